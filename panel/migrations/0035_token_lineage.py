from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('panel', '0002_squashed_0034_held_messages'),
    ]

    operations = [
        migrations.AddField(
            model_name='apitoken',
            name='made_by',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=12),
        ),
    ]
