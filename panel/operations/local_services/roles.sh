#!/bin/sh
# Run once by the db container on an empty data folder.
set -eu
psql --no-psqlrc --quiet --username postgres --dbname postgres \
    --variable ON_ERROR_STOP=1 \
    --variable owner_password="$TIERCEL_OWNER_PASSWORD" \
    --variable app_password="$TIERCEL_APP_PASSWORD" \
    --file /tiercel/roles.sql
