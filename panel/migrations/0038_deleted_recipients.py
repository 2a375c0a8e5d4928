import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('panel', '0037_keys_of_people'),
    ]

    operations = [
        migrations.AddField(
            model_name='alertdelivery',
            name='recipient',
            field=models.CharField(blank=True, db_default='', default='', max_length=120),
        ),
        migrations.AlterField(
            model_name='alertdelivery',
            name='route',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='deliveries', to='panel.alertroute'),
        ),
    ]
