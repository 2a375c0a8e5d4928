<?php
// Tiercel as a server module of WHMCS: docs/billing.md of Tiercel describes the calls.
//
// Server: hostname of the panel; its password is the secret (one of TIERCEL_BILLING_IN_SECRETS).
// Product: a custom field `volume` with Tiercel's key of the volume; the plan's name as option.

const TIERCEL_DECIMALS = 2;   // of your currency in ISO 4217: EUR 2, JPY 0, KWD 3
const TIERCEL_TRIES = 3;
const TIERCEL_LINES = 'tbl_tiercel_lines';

function tiercel_MetaData(): array {
    return ['DisplayName' => 'Tiercel', 'APIVersion' => '1.1', 'RequiresServer' => true,
        'DefaultSSLPort' => '443', 'ServiceSingleSignOnLabel' => 'Cache of this server'];
}

function tiercel_ConfigOptions(): array {   // the first one is $params['configoption1']
    return ['Plan' => ['Type' => 'text', 'Size' => 30, 'Description' => 'Name of the cache plan']];
}

// null unless it is a secret: with an empty or short key, anyone could sign.
function tiercel_key(#[\SensitiveParameter] string $secret): ?string {
    $key = base64_decode(substr($secret, strlen('whsec_')), true);
    return str_starts_with($secret, 'whsec_') && $key !== false && strlen($key) >= 24 ? $key : null;
}

function tiercel_sign(#[\SensitiveParameter] string $secret, string $id, int $at, string $body): string {
    $key = tiercel_key($secret) ?? throw new RuntimeException('There is no secret to sign with.');
    return 'v1,' . base64_encode(hash_hmac('sha256', "$id.$at.$body", $key, true));
}

// $id identifies the action: Tiercel executes an id only once. So a call that got no answer is sent
// again with its id.
function tiercel_call(array $params, string $call, array $fields, string $id = ''): array {
    if (tiercel_key($params['serverpassword']) === null)
        return ['detail' => "The server's password is no secret of TIERCEL_BILLING_IN_SECRETS.", 'code' => 'no_secret'];
    $id = $id ?: 'call_' . bin2hex(random_bytes(12));
    for ($try = 1; $try <= TIERCEL_TRIES; $try++) {
        $answer = tiercel_post($params, $call, json_encode(['call' => $call] + $fields), $id);
        if ($answer !== null) return $answer;
        if ($try < TIERCEL_TRIES) sleep($try);
    }
    return ['detail' => 'Tiercel does not answer.', 'code' => 'no_answer'];
}

function tiercel_post(array $params, string $call, string $body, string $id): ?array {
    $at = time();
    $scheme = $params['serverhttpprefix'] ?? 'https';
    $port = ($params['serverport'] ?? '') === '' ? '' : ":{$params['serverport']}";
    $curl = curl_init("$scheme://{$params['serverhostname']}$port/api/v1/billing/$call");
    curl_setopt_array($curl, [
        CURLOPT_POST => true,
        CURLOPT_POSTFIELDS => $body,   // sets Content-Length, even for an empty body
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_TIMEOUT => 30,
        CURLOPT_HTTPHEADER => [
            'Content-Type: application/json', "webhook-id: $id", "webhook-timestamp: $at",
            'webhook-signature: ' . tiercel_sign($params['serverpassword'], $id, $at, $body),
        ],
    ]);
    $answer = curl_exec($curl);
    $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
    $data = $answer === false || $status >= 500 ? null : json_decode($answer, true);
    return is_array($data) ? $data : null;
}

function tiercel_result(array $answer): string {   // in the form that WHMCS expects
    if (in_array($answer['result'] ?? '', ['success', 'pending'], true)) return 'success';
    $words = array_filter([$answer['detail'] ?? $answer['reason'] ?? 'error', $answer['correction'] ?? '']);
    return implode(' ', $words);
}

function tiercel_TestConnection(array $params): array {
    // No order has this key; who signs wrongly learns nothing about that.
    $answer = tiercel_call($params, 'status', ['order' => 'aaaaaaaaaaaaaaaa']);
    return ($answer['code'] ?? '') === 'not_found' ? ['success' => true, 'error' => '']
        : ['success' => false, 'error' => tiercel_result($answer)];
}

function tiercel_CreateAccount(array $params): string {
    $client = $params['clientsdetails'];
    $answer = tiercel_call($params, 'create-customer', [
        'external_id' => (string) $params['userid'], 'email' => $client['email'],
        'name' => $client['companyname'] ?: $client['fullname'], 'person_name' => $client['fullname'],
    ]);
    if (tiercel_result($answer) !== 'success') return tiercel_result($answer);
    $answer = tiercel_call($params, 'bind-volume', [
        'customer_external_id' => (string) $params['userid'],
        'volume' => $params['customfields']['volume'],
        'volume_external_id' => (string) $params['serviceid'],
    ]);
    return tiercel_result($answer) === 'success' ? tiercel_ChangePackage($params) : tiercel_result($answer);
}

function tiercel_ChangePackage(array $params): string {
    $answer = tiercel_call($params, 'change-plan', [
        'volume_external_id' => (string) $params['serviceid'],
        'plan' => $params['configoption1'] ?: null,   // no name: no cache
    ]);
    // It is so already: WHMCS repeats what it is not sure of.
    return ($answer['code'] ?? '') === 'same_plan' ? 'success' : tiercel_result($answer);
}

function tiercel_SuspendAccount(array $params): string {
    return tiercel_result(tiercel_call($params, 'suspend',
        ['customer_external_id' => (string) $params['userid']]));
}

function tiercel_UnsuspendAccount(array $params): string {
    return tiercel_result(tiercel_call($params, 'unsuspend',
        ['customer_external_id' => (string) $params['userid']]));
}

function tiercel_TerminateAccount(array $params): string {
    return tiercel_result(tiercel_call($params, 'terminate',
        ['volume_external_id' => (string) $params['serviceid']]));
}

function tiercel_ServiceSingleSignOn(array $params): array {
    $answer = tiercel_call($params, 'login-link', [
        'customer_external_id' => (string) $params['userid'],
        'volume_external_id' => (string) $params['serviceid'],
    ]);
    return isset($answer['url']) ? ['success' => true, 'redirectTo' => $answer['url']]
        : ['success' => false, 'errorMsg' => tiercel_result($answer)];
}

// The hook receives the lines. Once a day this adds lines of hooks that were lost.
function tiercel_UsageUpdate(array $params): void {
    $server = WHMCS\Database\Capsule::table('tblhosting')->where('server', $params['serverid']);
    foreach ((clone $server)->distinct()->pluck('userid') as $client) {
        foreach ([gmdate('Y-m', strtotime('-7 days')), gmdate('Y-m')] as $month) {   // a line of the last evening, too
            $answer = tiercel_call($params, 'usage-lines',
                ['customer_external_id' => (string) $client, 'month' => $month]);
            array_map('tiercel_bill', $answer['lines'] ?? []);
        }
    }
}

function tiercel_bill(array $line): bool {   // once for each id, whichever way it came
    if (($line['customer_external_id'] ?? '') === '') return false;   // not a customer of WHMCS
    $schema = WHMCS\Database\Capsule::schema();
    if (!$schema->hasTable(TIERCEL_LINES)) {
        $schema->create(TIERCEL_LINES, fn($table) => $table->string('id', 64)->unique());
    }
    $done = WHMCS\Database\Capsule::table(TIERCEL_LINES);
    if (!$done->insertOrIgnore(['id' => $line['id']])) return true;
    $amount = $line['amount_minor'] / 10 ** ($line['currency_digits'] ?? TIERCEL_DECIMALS);
    $answer = localAPI('AddBillableItem', [
        'clientid' => $line['customer_external_id'], 'description' => $line['description'],
        'amount' => $line['kind'] === 'credit' ? -$amount : $amount,
        'invoiceaction' => $line['kind'] === 'charge' ? 'nextcron' : 'nextinvoice', 'unit' => 'quantity', 'quantity' => 1,
    ]);
    if (($answer['result'] ?? '') === 'success') return true;
    $done->where('id', $line['id'])->delete();   // the next try bills it
    return false;
}
