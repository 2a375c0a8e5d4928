-- "App 2b" becomes "app 00000000000000000002b": each number first gets 20 zeros more, and is then cut
-- to its last 20 digits.

CREATE OR REPLACE FUNCTION natural_order(name text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
SELECT regexp_replace(
    regexp_replace(
        translate(lower(name), 'àáâãäåçèéêëìíîïñòóôõöøùúûüýÿßÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝ',
            'aaaaaaceeeeiiiinoooooouuuuyysaaaaaaceeeeiiiinoooooouuuuy'),
        '([0-9]+)', '00000000000000000000\1', 'g'),
    '[0-9]*([0-9]{20})', '\1', 'g')
$$;
