<?php
// The functions of WHMCS that the two files of docs/whmcs use, on a file state.json beside this one:
// {"tables": {name: rows}, "invoices": {client: overdue}, "items": [...], "fails": how often}.

namespace WHMCS\Database {
    class Blueprint {
        public function string(string $name, int $length): self { return $this; }
        public function unique(): self { return $this; }
    }

    class Schema {
        public function hasTable(string $name): bool { return isset(\state()['tables'][$name]); }

        public function create(string $name, callable $columns): void {
            $columns(new Blueprint);
            \change(fn(array $state) => [...$state, 'tables' => [...$state['tables'], $name => []]]);
        }
    }

    class Query {
        private array $wanted = [];

        public function __construct(private string $table) {}

        public function where(string $column, mixed $value): self {
            $this->wanted[$column] = $value;
            return $this;
        }

        public function distinct(): self { return $this; }

        public function pluck(string $column): array {
            return array_values(array_unique(array_column($this->rows(true), $column)));
        }

        public function insertOrIgnore(array $row): int {
            if (in_array($row['id'], array_column($this->rows(true), 'id'), true)) return 0;
            $this->keep([...\state()['tables'][$this->table], $row]);
            return 1;
        }

        public function delete(): void { $this->keep($this->rows(false)); }

        private function rows(bool $matching): array {
            $fits = fn($row) => array_intersect_assoc($this->wanted, $row) == $this->wanted;
            return array_values(array_filter(\state()['tables'][$this->table], fn($row) => $fits($row) === $matching));
        }

        private function keep(array $rows): void {
            \change(fn(array $state) => [...$state, 'tables' => [...$state['tables'], $this->table => $rows]]);
        }
    }

    class Capsule {
        public static function table(string $name): Query { return new Query($name); }
        public static function schema(): Schema { return new Schema; }
    }
}

namespace {
    const ROOTDIR = __DIR__;

    function state(): array {
        return json_decode(file_get_contents(__DIR__ . '/state.json'), true);
    }

    function change(callable $next): void {
        file_put_contents(__DIR__ . '/state.json', json_encode($next(state())));
    }

    function localAPI(string $command, array $values): array {
        $state = state();
        if ($command === 'GetInvoices') {
            $overdue = $state['invoices'][$values['userid']] ?? null;
            return $overdue === null ? ['result' => 'error', 'message' => 'Client ID Not Found']
                : ['result' => 'success', 'totalresults' => $overdue];
        }
        if ($state['fails'] > 0) {
            change(fn(array $state) => [...$state, 'fails' => $state['fails'] - 1]);
            return ['result' => 'error'];
        }
        change(fn(array $state) => [...$state, 'items' => [...$state['items'], $values]]);
        return ['result' => 'success'];
    }
}
