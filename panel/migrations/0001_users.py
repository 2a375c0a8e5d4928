"""The accounts of people, which the other apps refer to; the rest of the panel's tables comes after
theirs."""

import django.db.models.functions.text
import django.utils.timezone
from django.db import migrations, models

import storage.access
import storage.name_validators


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("panel", "0001_initial"),
    ]

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('email', models.EmailField(max_length=254, unique=True)),
                ('name', models.CharField(blank=True, max_length=150, validators=[storage.name_validators.demand_name])),
                ('is_active', models.BooleanField(default=True)),
                ('date_joined', models.DateTimeField(default=django.utils.timezone.now)),
                ('staff_role', models.CharField(blank=True, choices=[(storage.access.StaffRole['READ_ONLY'], 'read-only'), (storage.access.StaffRole['OPERATOR'], 'operator'), (storage.access.StaffRole['ADMIN'], 'admin')], max_length=9)),
                ('tour_step', models.PositiveSmallIntegerField(db_default=0, default=0)),
                ('language', models.CharField(blank=True, db_default='', default='', max_length=8)),
                ('is_service', models.BooleanField(db_default=False, default=False)),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('email'), name='user_email_any_case_unique'), models.CheckConstraint(condition=models.Q(('staff_role__in', ['', storage.access.StaffRole['READ_ONLY'], storage.access.StaffRole['OPERATOR'], storage.access.StaffRole['ADMIN']])), name='user_staff_role_known')],
            },
        ),
    ]
