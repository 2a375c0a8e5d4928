from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0025_life_signs'),
    ]

    operations = [
        migrations.AddField(
            model_name='alert',
            name='gravest_code',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
        migrations.AddField(
            model_name='alert',
            name='gravest_message',
            field=models.TextField(blank=True, db_default='', default=''),
        ),
        migrations.AddField(
            model_name='alert',
            name='gravest_rank',
            field=models.PositiveSmallIntegerField(db_default=3, default=3),
        ),
    ]
