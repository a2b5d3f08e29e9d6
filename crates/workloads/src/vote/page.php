<?php
// The pages of the workload `vote` for php-fpm. `settings.php` beside this file says how much of a page is
// done, and where the database is; what is written and read is what bakeoff's own web server does.
declare(strict_types=1);

// How often a vote is tried before its conflict is an error.
const MOST_TRIES = 1000;

function answer(int $status, string $body): void
{
    http_response_code($status);
    header('Content-Length: ' . strlen($body));
    echo $body;
}

// The tables of a database that speaks SQL.
final class Tables
{
    // Conflicts by their SQLSTATE, and by the numbers of servers that have none for them.
    private const CONFLICTS = ['40001', '40P01'];
    private const CONFLICT_NUMBERS = [5, 6, 1020, 1205];

    private PDO $database;

    public function __construct(array $settings)
    {
        $options = [
            PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
            PDO::ATTR_PERSISTENT => $settings['kept'],
            PDO::ATTR_TIMEOUT => 60,
        ];
        // An update of a row to what it was counts it.
        if (strncmp($settings['dsn'], 'mysql:', 6) === 0) {
            $options[PDO::MYSQL_ATTR_FOUND_ROWS] = true;
        }
        $this->database = new PDO($settings['dsn'], $settings['user'], $settings['password'], $options);
        foreach ($settings['first'] as $statement) {
            $this->database->exec($statement);
        }
    }

    public function hasSession(string $uuid): bool
    {
        $read = $this->run('SELECT uuid, seen_at, address, agent, votes FROM sessions WHERE uuid = ?', [$uuid]);
        $is_there = $read->fetch(PDO::FETCH_NUM) !== false;
        // SQLite would go on reading the state of then, and commit nothing before that ends.
        $read->closeCursor();
        return $is_there;
    }

    public function renewSession(string $uuid, int $now, string $address, string $agent): void
    {
        $renew = 'UPDATE sessions SET seen_at = ?, address = ?, agent = ? WHERE uuid = ?';
        $this->change($renew, [$now, $address, $agent, $uuid], "session $uuid");
    }

    public function addSession(string $uuid, int $now, string $address, string $agent): void
    {
        $add = 'INSERT INTO sessions (uuid, seen_at, address, agent, votes) VALUES (?, ?, ?, ?, 0)';
        $this->run($add, [$uuid, $now, $address, $agent]);
    }

    public function best(): array
    {
        $best = 'SELECT id, name, rating FROM entries ORDER BY rating DESC LIMIT 9';
        return $this->database->query($best)->fetchAll(PDO::FETCH_NUM);
    }

    // Casts a vote of a session for an entry, in one transaction; the rating that the entry then has.
    public function vote(int $entry, string $uuid): int
    {
        try {
            $this->database->beginTransaction();
            $this->change('UPDATE entries SET rating = rating + 1 WHERE id = ?', [$entry], "entry $entry");
            $read = $this->run('SELECT rating FROM entries WHERE id = ?', [$entry]);
            $rating = (int) $read->fetchColumn();
            $read->closeCursor();
            $count = 'UPDATE sessions SET votes = votes + 1 WHERE uuid = ?';
            $this->change($count, [$uuid], "session $uuid");
            $this->database->commit();
            return $rating;
        } catch (Throwable $error) {
            if ($this->database->inTransaction()) {
                $this->database->rollBack();
            }
            throw $error;
        }
    }

    public static function isConflict(Throwable $error): bool
    {
        if (!($error instanceof PDOException)) {
            return false;
        }
        [$state, $number] = [$error->errorInfo[0] ?? '', $error->errorInfo[1] ?? 0];
        return in_array($state, self::CONFLICTS, true) || in_array($number, self::CONFLICT_NUMBERS, true);
    }

    private function run(string $statement, array $values): PDOStatement
    {
        $prepared = $this->database->prepare($statement);
        $prepared->execute($values);
        return $prepared;
    }

    private function change(string $statement, array $values, string $what): void
    {
        if ($this->run($statement, $values)->rowCount() < 1) {
            throw new RuntimeException("$what is missing");
        }
    }
}

// The same tables in a store of keys and values, which `store.php` beside this file reaches.
final class Spaces
{
    private const ENTRIES = 'table.entries';
    private const RATINGS = 'index.entries_rating';
    private const SESSIONS = 'table.sessions';
    private const OF_ENTRY = ['text', 'int'];
    private const OF_SESSION = ['int', 'text', 'text', 'int'];

    private Store $store;

    public function __construct(array $settings)
    {
        require_once __DIR__ . '/store.php';
        $this->store = new Store($settings, ['schema', self::ENTRIES, self::RATINGS, self::SESSIONS]);
    }

    public function hasSession(string $uuid): bool
    {
        return $this->store->get(-1, self::SESSIONS, [Store::keyOfText($uuid)])[1][0] !== null;
    }

    public function renewSession(string $uuid, int $now, string $address, string $agent): void
    {
        $key = Store::keyOfText($uuid);
        [$state, $row] = $this->row(-1, self::SESSIONS, $key, self::OF_SESSION, "session $uuid");
        $row = Store::row([$now, $address, $agent, $row[3]]);
        $this->store->commit($state, [[self::SESSIONS, $key]], [[self::SESSIONS, $key, $row]]);
    }

    public function addSession(string $uuid, int $now, string $address, string $agent): void
    {
        $key = Store::keyOfText($uuid);
        [$state, $found] = $this->store->get(-1, self::SESSIONS, [$key]);
        if ($found[0] !== null) {
            throw new RuntimeException("session $uuid is there already");
        }
        $row = Store::row([$now, $address, $agent, 0]);
        $this->store->commit($state, [[self::SESSIONS, $key]], [[self::SESSIONS, $key, $row]]);
    }

    public function best(): array
    {
        [$state, $keys] = $this->store->last(self::RATINGS, 9);
        // A key of the index is a rating and the key of an entry.
        $keys = array_map(fn ($key) => substr($key, 8), $keys);
        $best = [];
        foreach ($this->store->get($state, self::ENTRIES, $keys)[1] as $at => $row) {
            [$name, $rating] = Store::values($row, self::OF_ENTRY);
            $best[] = [Store::intOfKey($keys[$at], 0), $name, $rating];
        }
        return $best;
    }

    // Casts a vote of a session for an entry, in one transaction; the rating that the entry then has.
    public function vote(int $entry, string $uuid): int
    {
        [$of_entry, $of_session] = [Store::keyOfInt($entry), Store::keyOfText($uuid)];
        [$state, [$name, $rating]] = $this->row(-1, self::ENTRIES, $of_entry, self::OF_ENTRY, "entry $entry");
        [, $session] = $this->row($state, self::SESSIONS, $of_session, self::OF_SESSION, "session $uuid");
        $session[3]++;
        $reads = [[self::ENTRIES, $of_entry], [self::SESSIONS, $of_session]];
        $this->store->commit($state, $reads, [
            [self::ENTRIES, $of_entry, Store::row([$name, $rating + 1])],
            [self::RATINGS, Store::keyOfInt($rating) . $of_entry, null],
            [self::RATINGS, Store::keyOfInt($rating + 1) . $of_entry, ''],
            [self::SESSIONS, $of_session, Store::row($session)],
        ]);
        return $rating + 1;
    }

    public static function isConflict(Throwable $error): bool
    {
        return $error instanceof Conflict;
    }

    // The values of the row of a key, and the state that they are of.
    private function row(int $state, string $space, string $key, array $columns, string $what): array
    {
        [$state, $found] = $this->store->get($state, $space, [$key]);
        if ($found[0] === null) {
            throw new RuntimeException("$what is missing");
        }
        return [$state, Store::values($found[0], $columns)];
    }
}

function connected(array $settings): object
{
    return strncmp($settings['dsn'], 'store:', 6) === 0 ? new Spaces($settings) : new Tables($settings);
}

// Does something again and again while it ends in a conflict, after a little wait that grows.
function again(object $database, callable $work)
{
    for ($tries = 1; ; $tries++) {
        try {
            return $work();
        } catch (Throwable $error) {
            if (!$database->isConflict($error) || $tries === MOST_TRIES) {
                throw $error;
            }
            usleep(random_int(0, 50 << min($tries, 7)));
        }
    }
}

function constants(): array
{
    $best = [];
    for ($place = 0; $place < 9; $place++) {
        $best[] = [$place + 1, 'an entry that nobody has asked for', 1000 - $place];
    }
    return $best;
}

function uuid(): string
{
    $bytes = random_bytes(16);
    $bytes[6] = chr(ord($bytes[6]) & 0x0f | 0x40);
    $bytes[8] = chr(ord($bytes[8]) & 0x3f | 0x80);
    return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($bytes), 4));
}

// Reads the session of a cookie, and with $writes renews it or makes a new one: what the page says of it.
function session(object $database, string $cookie, bool $writes): string
{
    $is_there = $cookie !== '' && again($database, fn () => $database->hasSession($cookie));
    if (!$writes) {
        return $is_there ? "Session $cookie" : 'No session';
    }
    $now = (int) (microtime(true) * 1e6);
    $from = [$now, $_SERVER['HTTP_X_FORWARDED_FOR'] ?? '', $_SERVER['HTTP_USER_AGENT'] ?? ''];
    if ($is_there) {
        again($database, fn () => $database->renewSession($cookie, ...$from));
        return "Session $cookie";
    }
    $new = uuid();
    again($database, fn () => $database->addSession($new, ...$from));
    header("Set-Cookie: session=$new; Path=/");
    return "New session $new";
}

function page(string $visitor, array $best): string
{
    $page = "<meta charset=\"utf-8\"><title>The best nine</title>\n<h1>The best nine</h1>\n<ol>\n";
    foreach ($best as [$id, $name, $rating]) {
        $name = str_replace(['&', '<'], ['&amp;', '&lt;'], $name);
        $page .= "<li value=\"$id\"><b>$name</b> <i>$rating</i></li>\n";
    }
    return "$page</ol>\n<p>$visitor</p>\n";
}

function main(array $settings): void
{
    $step = $settings['step'];
    [$reads, $writes] = [in_array($step, ['read', 'read+write'], true), $step === 'read+write'];
    $is_post = $_SERVER['REQUEST_METHOD'] === 'POST';
    $uri = $_SERVER['REQUEST_URI'];
    $cookie = $_COOKIE['session'] ?? '';
    $cookie = preg_match('/^[0-9a-fA-F-]{36}$/', $cookie) === 1 ? $cookie : '';
    if (!$is_post && $uri === '/ready') {
        answer(200, 'ready');
    } elseif (!$is_post && $uri === '/') {
        $database = $step === 'stub' ? null : connected($settings);
        $visitor = $reads ? session($database, $cookie, $writes) : 'No session';
        $best = $reads ? again($database, fn () => $database->best()) : constants();
        answer(200, page($visitor, $best));
    } elseif ($is_post && $writes && preg_match('#^/vote\?id=([0-9]{1,18})$#', $uri, $found) === 1) {
        [$database, $entry] = [connected($settings), (int) $found[1]];
        $rating = again($database, fn () => $database->vote($entry, $cookie));
        $best = again($database, fn () => $database->best());
        answer(200, page("Session $cookie", $best) . "<p>Vote $entry $rating</p>\n");
    } else {
        answer(404, 'there is no such page');
    }
}

try {
    main(require __DIR__ . '/settings.php');
} catch (Throwable $error) {
    answer(500, $error->getMessage());
}
