<?php
// A client of Tarantool for pages in PHP, over its binary protocol and a Unix socket: Debian has no module for
// it. Protocol: tarantool.io/en/doc/2.6/dev_guide/internals/box_protocol. Rows and keys are in the form that
// bakeoff keeps them in, and a transaction is one call, by the functions that bakeoff starts the server with.
declare(strict_types=1);

// Something that a transaction has read was changed meanwhile.
final class Conflict extends RuntimeException
{
}

final class Store
{
    private const AUTHENTICATE = 7;
    private const CALL = 10;
    private const FAILED = 0x8000;

    private $stream;
    private int $number;
    private array $ids;

    // Connects as the settings say, to a server with spaces of these names.
    public function __construct(array $settings, array $spaces)
    {
        $open = $settings['kept'] ? 'pfsockopen' : 'fsockopen';
        $path = substr($settings['dsn'], strlen('store:'));
        $stream = @$open("unix://$path", -1, $code, $message, 60);
        if ($stream === false) {
            throw new RuntimeException("the database can't be connected to: $message");
        }
        stream_set_timeout($stream, 60);
        $this->stream = $stream;
        $this->number = random_int(1, 1 << 48);
        // One that was kept has been greeted.
        if (ftell($stream) === 0) {
            $this->enter($settings['user'], $settings['password']);
        }
        $this->ids = $this->numbers($spaces);
    }

    // The values of keys, and the state that they are of: one that was told before, or -1 for the present one.
    public function get(int $state, string $space, array $keys): array
    {
        $texts = array_map('Store::text', $keys);
        $arguments = self::int($state) . self::int($this->ids[$space]) . self::length(count($keys)) . implode($texts);
        $answer = $this->call('bakeoff_get', 3, $arguments);
        if ($answer[0] === false) {
            throw new Conflict('more has changed since it began than the server keeps');
        }
        return [$answer[0], array_map(fn ($tuple) => $tuple[1] ?? null, $answer[1])];
    }

    // The last keys of a space, the very last first, and the state that they are of.
    public function last(string $space, int $most): array
    {
        $range = self::text('') . self::text('') . "\xc3";
        $arguments = self::int(-1) . self::int($this->ids[$space]) . $range . self::int($most);
        $answer = $this->call('bakeoff_scan', 6, $arguments);
        return [$answer[0], array_map(fn ($tuple) => $tuple[0], $answer[2])];
    }

    // Writes, unless one of the keys that were read in a state has changed since. Each read is a space and a key;
    // each write a space, a key and a value, which is null to remove the key.
    public function commit(int $state, array $reads, array $writes): void
    {
        $arguments = self::int($state) . self::length(count($reads));
        foreach ($reads as [$space, $key]) {
            $arguments .= self::length(3) . self::int($this->ids[$space]) . self::text($key) . self::text("$key\0");
        }
        $arguments .= self::length(count($writes));
        foreach ($writes as [$space, $key, $value]) {
            $arguments .= self::length($value === null ? 2 : 3) . self::int($this->ids[$space]) . self::text($key);
            $arguments .= $value === null ? '' : self::text($value);
        }
        if ($this->call('bakeoff_commit', 3, $arguments)[0] !== true) {
            throw new Conflict('what it has read was changed since');
        }
    }

    // A number in a key: keys sort as their numbers do.
    public static function keyOfInt(int $value): string
    {
        return pack('J', $value ^ PHP_INT_MIN);
    }

    public static function keyOfText(string $value): string
    {
        return str_replace("\0", "\0\1", $value) . "\0\0";
    }

    public static function intOfKey(string $key, int $at): int
    {
        return unpack('J', $key, $at)[1] ^ PHP_INT_MIN;
    }

    // A row of values, each a number or a text.
    public static function row(array $values): string
    {
        $row = '';
        foreach ($values as $value) {
            $row .= is_int($value) ? self::varint(($value << 1) ^ ($value >> 63)) : self::varint(strlen($value)) . $value;
        }
        return $row;
    }

    // The values of a row whose columns are these: 'int' or 'text'.
    public static function values(string $row, array $columns): array
    {
        [$values, $at] = [[], 0];
        foreach ($columns as $column) {
            $number = self::takeVarint($row, $at);
            if ($column === 'text') {
                $values[] = substr($row, $at, $number);
                $at += $number;
            } else {
                $values[] = (($number >> 1) & PHP_INT_MAX) ^ -($number & 1);
            }
        }
        if ($at !== strlen($row)) {
            throw new RuntimeException('damaged data: a row is too long');
        }
        return $values;
    }

    private static function varint(int $value): string
    {
        $bytes = '';
        while ($value < 0 || $value >= 0x80) {
            $bytes .= chr($value & 0x7f | 0x80);
            $value = ($value >> 7) & 0x01ffffffffffffff;
        }
        return $bytes . chr($value);
    }

    private static function takeVarint(string $bytes, int &$at): int
    {
        for ($value = 0, $shift = 0; $at < strlen($bytes) && $shift < 64; $shift += 7) {
            $byte = ord($bytes[$at++]);
            $value |= ($byte & 0x7f) << $shift;
            if ($byte < 0x80) {
                return $value;
            }
        }
        throw new RuntimeException('damaged data: a number is cut short');
    }

    // Proves that it knows the password: sha1(password) xor sha1(salt, sha1(sha1(password))).
    private function enter(string $user, string $password): void
    {
        $greeting = $this->read(128);
        if (strncmp($greeting, 'Tarantool ', 10) !== 0) {
            throw $this->broken('the database does not greet as Tarantool does');
        }
        $salt = substr(base64_decode(substr($greeting, 64, 44)), 0, 20);
        $once = sha1($password, true);
        $proof = $once ^ sha1($salt . sha1($once, true), true);
        $tuple = self::length(2) . self::text('chap-sha1') . self::text($proof);
        $this->ask(self::AUTHENTICATE, "\x82\x23" . self::text($user) . "\x21" . $tuple);
    }

    // The numbers of spaces by their names, which are kept beside this file once they are known.
    private function numbers(array $spaces): array
    {
        $file = __DIR__ . '/spaces.json';
        $known = is_file($file) ? json_decode(file_get_contents($file), true) : null;
        if (is_array($known)) {
            return $known;
        }
        $names = self::length(count($spaces)) . implode(array_map('Store::text', $spaces));
        $numbers = $this->call('bakeoff_open', 2, self::text('memtx') . $names)[0];
        $known = array_combine($spaces, $numbers);
        // Whole, or not at all.
        file_put_contents("$file." . getmypid(), json_encode($known));
        rename("$file." . getmypid(), $file);
        return $known;
    }

    private function call(string $function, int $count, string $arguments): array
    {
        $body = "\x82\x22" . self::text($function) . "\x21" . self::length($count) . $arguments;
        return $this->ask(self::CALL, $body);
    }

    // Sends a request and waits for its answer: what the server gives back.
    private function ask(int $kind, string $body): array
    {
        $this->number++;
        $packet = "\x82\x00" . chr($kind) . "\x01\xcf" . pack('J', $this->number) . $body;
        $packet = "\xce" . pack('N', strlen($packet)) . $packet;
        for ($sent = 0; $sent < strlen($packet); $sent += $written) {
            $written = fwrite($this->stream, substr($packet, $sent));
            if ($written === false || $written === 0) {
                throw $this->broken('the connection to the database is lost');
            }
        }
        $answer = $this->read(unpack('N', $this->read(5), 1)[1]);
        $at = 0;
        $header = self::take($answer, $at);
        $body = $at < strlen($answer) ? self::take($answer, $at) : [];
        if (($header[1] ?? null) !== $this->number) {
            throw $this->broken("the database answers another one's request");
        }
        if (($header[0] & self::FAILED) !== 0) {
            throw $this->broken((string) ($body[0x31] ?? 'the database has failed'));
        }
        return $body[0x30] ?? [];
    }

    private function read(int $length): string
    {
        $bytes = '';
        while (strlen($bytes) < $length) {
            $read = fread($this->stream, $length - strlen($bytes));
            if ($read === false || $read === '') {
                throw $this->broken('the connection to the database is lost');
            }
            $bytes .= $read;
        }
        return $bytes;
    }

    // Why it can't be gone on with; the connection is closed, also one that was kept: the rest of an answer may
    // come on it yet.
    private function broken(string $why): RuntimeException
    {
        if (is_resource($this->stream)) {
            fclose($this->stream);
        }
        return new RuntimeException($why);
    }

    // MessagePack, as far as requests and answers have it.

    private static function int(int $value): string
    {
        return $value >= 0 && $value < 0x80 ? chr($value) : ($value < 0 ? "\xd3" : "\xcf") . pack('J', $value);
    }

    private static function text(string $text): string
    {
        $length = strlen($text);
        if ($length < 0x20) {
            return chr(0xa0 | $length) . $text;
        }
        return ($length < 0x100 ? "\xd9" . chr($length) : "\xdb" . pack('N', $length)) . $text;
    }

    private static function length(int $count): string
    {
        return $count < 0x10 ? chr(0x90 | $count) : "\xdc" . pack('n', $count);
    }

    private static function take(string $bytes, int &$at)
    {
        $mark = ord($bytes[$at++]);
        if ($mark < 0x80) {
            return $mark;
        } elseif ($mark < 0x90) {
            return self::takeMap($bytes, $at, $mark & 0x0f);
        } elseif ($mark < 0xa0) {
            return self::takeArray($bytes, $at, $mark & 0x0f);
        } elseif ($mark < 0xc0) {
            return self::takeText($bytes, $at, $mark & 0x1f);
        } elseif ($mark >= 0xe0) {
            return $mark - 0x100;
        }
        switch ($mark) {
            case 0xc0:
                return null;
            case 0xc2:
                return false;
            case 0xc3:
                return true;
            case 0xc4:
            case 0xd9:
                return self::takeText($bytes, $at, self::takeNumber($bytes, $at, 1));
            case 0xc5:
            case 0xda:
                return self::takeText($bytes, $at, self::takeNumber($bytes, $at, 2));
            case 0xc6:
            case 0xdb:
                return self::takeText($bytes, $at, self::takeNumber($bytes, $at, 4));
            case 0xcb:
                return self::takeText($bytes, $at, 8);
            case 0xcc:
            case 0xcd:
            case 0xce:
            case 0xcf:
                return self::takeNumber($bytes, $at, 1 << ($mark - 0xcc));
            case 0xd0:
            case 0xd1:
            case 0xd2:
            case 0xd3:
                $bits = 64 - (8 << ($mark - 0xd0));
                return self::takeNumber($bytes, $at, 1 << ($mark - 0xd0)) << $bits >> $bits;
            case 0xdc:
                return self::takeArray($bytes, $at, self::takeNumber($bytes, $at, 2));
            case 0xdd:
                return self::takeArray($bytes, $at, self::takeNumber($bytes, $at, 4));
            case 0xde:
                return self::takeMap($bytes, $at, self::takeNumber($bytes, $at, 2));
            case 0xdf:
                return self::takeMap($bytes, $at, self::takeNumber($bytes, $at, 4));
        }
        throw new RuntimeException("the database answers what can't be read");
    }

    private static function takeNumber(string $bytes, int &$at, int $length): int
    {
        $number = 0;
        foreach (str_split(self::takeText($bytes, $at, $length)) as $byte) {
            $number = $number << 8 | ord($byte);
        }
        return $number;
    }

    private static function takeText(string $bytes, int &$at, int $length): string
    {
        $at += $length;
        return substr($bytes, $at - $length, $length);
    }

    private static function takeArray(string $bytes, int &$at, int $count): array
    {
        $values = [];
        for ($number = 0; $number < $count; $number++) {
            $values[] = self::take($bytes, $at);
        }
        return $values;
    }

    private static function takeMap(string $bytes, int &$at, int $count): array
    {
        $values = [];
        for ($number = 0; $number < $count; $number++) {
            $key = self::take($bytes, $at);
            $values[$key] = self::take($bytes, $at);
        }
        return $values;
    }
}
