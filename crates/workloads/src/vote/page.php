<?php
// The pages of the workload `vote` for php-fpm. `settings.php` beside this file says how much of a page is
// done, and where the database is; what is written and read is what bakeoff's own web server does.
declare(strict_types=1);

// How often a vote is tried before its conflict is an error.
const MOST_TRIES = 1000;
// Conflicts by their SQLSTATE, and by the numbers of servers that have none for them.
const CONFLICTS = ['40001', '40P01'];
const CONFLICT_NUMBERS = [5, 6, 1020, 1205];

function answer(int $status, string $body): void
{
    http_response_code($status);
    header('Content-Length: ' . strlen($body));
    echo $body;
}

function connected(array $settings): PDO
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
    $database = new PDO($settings['dsn'], $settings['user'], $settings['password'], $options);
    foreach ($settings['first'] as $statement) {
        $database->exec($statement);
    }
    return $database;
}

function run(PDO $database, string $statement, array $values): PDOStatement
{
    $prepared = $database->prepare($statement);
    $prepared->execute($values);
    return $prepared;
}

function change(PDO $database, string $statement, array $values, string $what): void
{
    if (run($database, $statement, $values)->rowCount() < 1) {
        throw new RuntimeException("$what is missing");
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

function best(PDO $database): array
{
    $read = $database->query('SELECT id, name, rating FROM entries ORDER BY rating DESC LIMIT 9');
    return $read->fetchAll(PDO::FETCH_NUM);
}

function uuid(): string
{
    $bytes = random_bytes(16);
    $bytes[6] = chr(ord($bytes[6]) & 0x0f | 0x40);
    $bytes[8] = chr(ord($bytes[8]) & 0x3f | 0x80);
    return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($bytes), 4));
}

// Reads the session of a cookie, and with $writes renews it or makes a new one: what the page says of it.
function session(PDO $database, string $cookie, bool $writes): string
{
    $is_there = false;
    if ($cookie !== '') {
        $read = run($database, 'SELECT uuid, seen_at, address, agent, votes FROM sessions WHERE uuid = ?', [$cookie]);
        $is_there = $read->fetch(PDO::FETCH_NUM) !== false;
        // SQLite would go on reading the state of then, and commit nothing before that ends.
        $read->closeCursor();
    }
    if (!$writes) {
        return $is_there ? "Session $cookie" : 'No session';
    }
    $now = (int) (microtime(true) * 1e6);
    $address = $_SERVER['HTTP_X_FORWARDED_FOR'] ?? '';
    $agent = $_SERVER['HTTP_USER_AGENT'] ?? '';
    if ($is_there) {
        $renew = 'UPDATE sessions SET seen_at = ?, address = ?, agent = ? WHERE uuid = ?';
        change($database, $renew, [$now, $address, $agent, $cookie], "session $cookie");
        return "Session $cookie";
    }
    $new = uuid();
    $add = 'INSERT INTO sessions (uuid, seen_at, address, agent, votes) VALUES (?, ?, ?, ?, 0)';
    run($database, $add, [$new, $now, $address, $agent]);
    header("Set-Cookie: session=$new; Path=/");
    return "New session $new";
}

function is_conflict(PDOException $error): bool
{
    [$state, $number] = [$error->errorInfo[0] ?? '', $error->errorInfo[1] ?? 0];
    return in_array($state, CONFLICTS, true) || in_array($number, CONFLICT_NUMBERS, true);
}

// Casts a vote of a session for an entry, in one transaction; the rating that the entry then has.
function vote(PDO $database, int $entry, string $cookie): int
{
    for ($tries = 1; ; $tries++) {
        try {
            $database->beginTransaction();
            change($database, 'UPDATE entries SET rating = rating + 1 WHERE id = ?', [$entry], "entry $entry");
            $read = run($database, 'SELECT rating FROM entries WHERE id = ?', [$entry]);
            $rating = (int) $read->fetchColumn();
            $read->closeCursor();
            $count = 'UPDATE sessions SET votes = votes + 1 WHERE uuid = ?';
            change($database, $count, [$cookie], "session $cookie");
            $database->commit();
            return $rating;
        } catch (Throwable $error) {
            if ($database->inTransaction()) {
                $database->rollBack();
            }
            if (!($error instanceof PDOException) || !is_conflict($error) || $tries === MOST_TRIES) {
                throw $error;
            }
            usleep(random_int(0, 50 << min($tries, 7)));
        }
    }
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
        answer(200, page($visitor, $reads ? best($database) : constants()));
    } elseif ($is_post && $writes && preg_match('#^/vote\?id=([0-9]{1,18})$#', $uri, $found) === 1) {
        $database = connected($settings);
        [$entry, $rating] = [(int) $found[1], vote($database, (int) $found[1], $cookie)];
        answer(200, page("Session $cookie", best($database)) . "<p>Vote $entry $rating</p>\n");
    } else {
        answer(404, 'there is no such page');
    }
}

try {
    main(require __DIR__ . '/settings.php');
} catch (Throwable $error) {
    answer(500, $error->getMessage());
}
