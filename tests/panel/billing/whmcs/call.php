<?php
// php call.php FUNCTION < parameters as JSON: the result as JSON.
error_reporting(E_ALL);
set_error_handler(function (int $level, string $text, string $file, int $line): never {
    throw new ErrorException($text, 0, $level, $file, $line);
});
require __DIR__ . '/init.php';
require ROOTDIR . '/modules/servers/tiercel/tiercel.php';
echo json_encode($argv[1](json_decode(stream_get_contents(STDIN), true)));
