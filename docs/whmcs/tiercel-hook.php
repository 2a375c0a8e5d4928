<?php
// Receives Tiercel's messages: TIERCEL_BILLING_URL is its address, TIERCEL_SECRET (a variable of PHP)
// is one of TIERCEL_BILLING_SECRETS. Lies in the root of WHMCS.

require __DIR__ . '/init.php';
require ROOTDIR . '/modules/servers/tiercel/tiercel.php';

$body = file_get_contents('php://input');
[$id, $at] = [$_SERVER['HTTP_WEBHOOK_ID'] ?? '', (int) ($_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? 0)];
$secret = (string) getenv('TIERCEL_SECRET');
if (tiercel_key($secret) === null) {   // Tiercel tries again
    http_response_code(500);
    exit("PHP does not see TIERCEL_SECRET, or it is no secret of Tiercel.\n");
}
$mine = tiercel_sign($secret, $id, $at, $body);
$given = explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '');   // two while a secret is changed
$good = array_filter($given, fn($each) => hash_equals($mine, $each));
if (!$good || abs(time() - $at) > 300) {
    http_response_code(401);
    exit;
}
['type' => $type, 'data' => $data] = json_decode($body, true);
$answer = new stdClass;
if ($type === 'order.authorise') {
    $client = $data['customer_external_id'];   // '' would ask for the invoices of everybody
    $owing = $client === '' ? [] : localAPI('GetInvoices', ['userid' => $client, 'status' => 'Overdue']);
    $answer = match ($owing['totalresults'] ?? null) {
        null => ['decision' => 'refuse', 'reason' => 'Your account is not known to our billing. Please ask us.'],
        0, '0' => ['decision' => 'approve'],
        default => ['decision' => 'refuse', 'reason' => 'An invoice is overdue. Pay it, then order again.'],
    };
}
if ($type === 'usage.line' && !tiercel_bill($data)) http_response_code(500);   // Tiercel tries again
header('Content-Type: application/json');
echo json_encode($answer);
