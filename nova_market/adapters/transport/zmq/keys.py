# SPDX-License-Identifier: Apache-2.0
"""The directory of CURVE keys of a host: its own secret, and the allow-list of its peers.

    host.key            own secret key, mode 0600, one line of 64 hexadecimal digits
    host.key.next       the secret key that follows it, while keys are rotated
    NAME.pub            own public keys, to be copied into the peers/ of every other host
    peers/NAME.pub      public keys of host NAME: one, or two while NAME rotates

CURVE is curve25519 with authenticated encryption (CurveZMQ, https://rfc.zeromq.org/spec/26). A peer has
proven its name when it holds the secret of a public key in peers/NAME.pub. Files are replaced whole or
not at all; they belong to the owner of the directory, so that root may make keys for the service.
"""

import contextlib
import os
import re
import stat
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import zmq
from zmq.utils import z85

from nova_market.core.resource import HostName
from nova_market.errors import ConfigurationError

SECRET = 'host.key'
NEXT_SECRET = 'host.key.next'
PEERS = 'peers'
SUFFIX = '.pub'
KEY_BYTES = 32
KEYS_PER_PEER = 2
"""The one in use and the one that follows it."""
MAX_FILE = 4096
"""Bytes of a key file; two keys and some comments take less."""

_NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9._-]{0,252}')
_KEY = re.compile(r'[0-9A-Fa-f]{64}')


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPair:
    """Raw keys of KEY_BYTES each."""

    public: bytes
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRing:
    """What a host knows of keys at one moment.

    own:       the pair in use
    following: the pair that replaces it, None outside a rotation
    peers:     host -> its public keys, in the order of the file
    problems:  what was left out of the allow-list, and why
    """

    own: KeyPair
    following: KeyPair | None = None
    peers: Mapping[HostName, tuple[bytes, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    names: Mapping[bytes, HostName] = field(init=False)
    """Public key -> host that proves itself with it."""

    def __post_init__(self) -> None:
        names = {key: host for host, keys in self.peers.items() for key in keys}
        object.__setattr__(self, 'names', MappingProxyType(names))


class KeyDirectory:
    """Reads and changes the key files of one host."""

    def __init__(self, path: str, host: HostName) -> None:
        """:raises ConfigurationError: the host's name cannot be the name of a file."""
        self.path = path
        self.host = HostName(checked_name(host))

    # -- reading

    def signature(self) -> tuple[object, ...]:
        """Differs from an earlier one when a file was added, removed, replaced or written."""
        found: list[object] = []
        for directory in (self.path, self._path(PEERS)):
            try:
                with os.scandir(directory) as entries:
                    for entry in sorted(entries, key=lambda e: e.name):
                        about = entry.stat()
                        found.append((entry.name, about.st_ino, about.st_mtime_ns, about.st_size))
            except OSError as error:
                found.append((directory, error.errno))
        return tuple(found)

    def load(self) -> KeyRing:
        """All keys. A peer's file that can't be used leaves out that peer only.

        :raises ConfigurationError: the own secret is missing, damaged or open to others.
        """
        own = self._secret(SECRET)
        if own is None:
            raise ConfigurationError(
                f'{self._path(SECRET)}: there is no secret key of this host; make one with '
                '"nova-market-manage keys create"'
            )
        peers, problems = self._peers()
        following = self._secret(NEXT_SECRET)
        for host in [h for h, keys in peers.items() if h != self.host and own.public in keys]:
            problems.append(f'{self._peer_path(host)}: this is the key of this host ({self.host})')
            del peers[host]
        return KeyRing(own=own, following=following, peers=peers, problems=tuple(problems))

    def names(self) -> frozenset[HostName]:
        """The hosts that have a file in the allow-list, whatever is in it."""
        try:
            files = os.listdir(self._path(PEERS))
        except OSError:
            return frozenset()
        return frozenset(HostName(f.removesuffix(SUFFIX)) for f in files if f.endswith(SUFFIX))

    def public_path(self) -> str:
        """Where the own public keys are, ready to be copied."""
        return self._path(self.host + SUFFIX)

    # -- own keys

    def create(self, *, replace: bool = False) -> KeyRing:
        """Make the first key pair, and the directories where they are missing.

        :raises ConfigurationError: there is one; replacing it at once cuts this host off.
        """
        if not replace and os.path.exists(self._path(SECRET)):
            raise ConfigurationError(
                f'{self._path(SECRET)}: this host has a key; use "keys rotate", or "keys create --force" '
                'if the old one shall die now'
            )
        os.makedirs(self.path, mode=0o750, exist_ok=True)
        if not os.path.isdir(self._path(PEERS)):
            os.mkdir(self._path(PEERS), mode=0o750)
            self._give_to_owner(self._path(PEERS))
        self._write_secret(SECRET, _new_pair())
        self._remove(NEXT_SECRET)
        return self._published()

    def begin_rotation(self) -> KeyRing:
        """Make the pair that follows; the one in use stays in use.

        :raises ConfigurationError: a rotation has begun already.
        """
        if self.load().following is not None:
            raise ConfigurationError(
                f'{self._path(NEXT_SECRET)}: a rotation has begun; end it with "keys rotate --finish" or '
                '"keys rotate --cancel"'
            )
        self._write_secret(NEXT_SECRET, _new_pair())
        return self._published()

    def finish_rotation(self) -> KeyRing:
        """Use the pair that followed; the old one is gone.

        :raises ConfigurationError: no rotation has begun.
        """
        self._following()
        os.replace(self._path(NEXT_SECRET), self._path(SECRET))
        return self._published()

    def cancel_rotation(self) -> KeyRing:
        """Forget the pair that was to follow.

        :raises ConfigurationError: no rotation has begun.
        """
        self._following()
        self._remove(NEXT_SECRET)
        return self._published()

    # -- peers

    def add(self, host: str, keys: Sequence[bytes]) -> tuple[bytes, ...]:
        """Allow a peer these keys besides those it has; its keys after that.

        :raises ConfigurationError: too many keys, or a key of another host.
        """
        name = HostName(checked_name(host))
        peers, _ = self._peers()
        known = peers.get(name, ())
        for other, theirs in peers.items():
            if other != name and set(theirs) & set(keys):
                raise ConfigurationError(
                    f'{name}: this is the key of {other}; a key proves the name of one host only'
                )
        own = self._secret(SECRET)
        if own is not None and own.secret in keys:
            raise ConfigurationError(
                f'{name}: this is the SECRET key of this host; nobody may have it'
            )
        if own is not None and own.public in keys and name != self.host:
            raise ConfigurationError(f'{name}: this is the key of this host ({self.host})')
        together = tuple(dict.fromkeys([*known, *keys]))
        if len(together) > KEYS_PER_PEER:
            raise ConfigurationError(
                f'{name}: would have {len(together)} keys, at most {KEYS_PER_PEER}; remove one that is not '
                f'used any more: "keys remove {name} KEY"'
            )
        self._write_public(self._peer_path(name), together)
        return together

    def remove(self, host: str, key: bytes | None = None) -> tuple[bytes, ...]:
        """Revoke one key of a peer, or all of them; its keys after that.

        :raises ConfigurationError: it is not in the allow-list.
        """
        name = HostName(checked_name(host))
        path = self._peer_path(name)
        if not os.path.exists(path):
            raise ConfigurationError(f'{name}: not in the allow-list ({path})')
        left: tuple[bytes, ...] = ()
        if key is not None:
            known = _public_keys(path)
            if key not in known:
                raise ConfigurationError(f'{name}: does not have the key {key.hex()} ({path})')
            left = tuple(k for k in known if k != key)
        if left:
            self._write_public(path, left)
        else:
            os.unlink(path)
        return left

    # -- files

    def _path(self, name: str) -> str:
        return os.path.join(self.path, name)

    def _peer_path(self, host: HostName) -> str:
        return os.path.join(self.path, PEERS, host + SUFFIX)

    def _peers(self) -> tuple[dict[HostName, tuple[bytes, ...]], list[str]]:
        peers: dict[HostName, tuple[bytes, ...]] = {}
        problems: list[str] = []
        names: dict[bytes, HostName] = {}
        try:
            files = sorted(f for f in os.listdir(self._path(PEERS)) if f.endswith(SUFFIX))
        except OSError as error:
            return {}, [f'{self._path(PEERS)}: can not be read ({error.strerror})']
        for file in files:
            path = os.path.join(self.path, PEERS, file)
            if file.startswith('.'):
                continue  # half written by us, or of an editor
            try:
                host = HostName(checked_name(file.removesuffix(SUFFIX)))
                keys = _public_keys(path)
            except ConfigurationError as error:
                problems.append(str(error))
                continue
            double = [names[key] for key in keys if key in names]
            if double:
                problems.append(f'{path}: has a key of {double[0]} and is left out')
                continue
            peers[host] = keys
            names.update(dict.fromkeys(keys, host))
        return peers, problems

    def _secret(self, name: str) -> KeyPair | None:
        path = self._path(name)
        try:
            mode = stat.S_IMODE(os.stat(path).st_mode)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigurationError(f'{path}: cannot be read ({error.strerror})') from None
        if mode & 0o077:
            raise ConfigurationError(
                f'{path}: mode {mode:04o} lets others read the secret key; "chmod 600 {path}", and make '
                'another key if somebody may have read it'
            )
        keys = _keys(path, secret=True)
        if len(keys) != 1:
            raise ConfigurationError(f'{path}: has {len(keys)} keys, must have one')
        return _pair(keys[0])

    def _following(self) -> KeyPair:
        following = self._secret(NEXT_SECRET)
        if following is None:
            raise ConfigurationError('no rotation has begun; begin one with "keys rotate"')
        return following

    def _published(self) -> KeyRing:
        """Write the own public keys for the others to copy."""
        ring = self.load()
        pairs = [ring.own, *([ring.following] if ring.following else [])]
        self._write_public(self.public_path(), [pair.public for pair in pairs])
        return ring

    def _write_secret(self, name: str, pair: KeyPair) -> None:
        text = f'# secret key of {self.host}: nobody else may read it\n{pair.secret.hex()}\n'
        self._write(self._path(name), text, 0o600)

    def _write_public(self, path: str, keys: Sequence[bytes]) -> None:
        self._write(path, ''.join(f'{key.hex()}\n' for key in keys), 0o644)

    def _write(self, path: str, text: str, mode: int) -> None:
        try:
            handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix='.')
        except OSError as error:
            raise ConfigurationError(f'{path}: cannot be written ({error.strerror})') from None
        try:
            with os.fdopen(handle, 'w', encoding='ascii') as stream:
                stream.write(text)
                os.fchmod(stream.fileno(), mode)
                stream.flush()
                os.fsync(stream.fileno())
            self._give_to_owner(temporary)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise

    def _give_to_owner(self, path: str) -> None:
        """root makes keys for the service, which must be able to read them."""
        if os.geteuid() == 0:
            owner = os.stat(self.path)
            os.chown(path, owner.st_uid, owner.st_gid)

    def _remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path(name))


def checked_name(name: str) -> str:
    """:raises ConfigurationError: a key file cannot be named so."""
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f'host name {name[:80]!r}: must be 1 to 253 letters, digits, ".", "_" or "-", and begin with a '
            'letter or digit'
        )
    return name


def public_key(text: str) -> bytes:
    """:raises ConfigurationError: not a public key in hexadecimal digits."""
    if not _KEY.fullmatch(text.strip()):
        raise ConfigurationError(
            f'key {text.strip()[:70]!r}: must be {2 * KEY_BYTES} hexadecimal digits, as "nova-market-manage '
            'keys show" prints them'
        )
    return bytes.fromhex(text.strip())


def public_keys_in(path: str) -> tuple[bytes, ...]:
    """The keys in a public key file, wherever it is.

    :raises ConfigurationError: it has none, too many, or something else in it.
    """
    return _public_keys(path)


def _public_keys(path: str) -> tuple[bytes, ...]:
    keys = tuple(dict.fromkeys(_keys(path)))
    if not 1 <= len(keys) <= KEYS_PER_PEER:
        raise ConfigurationError(f'{path}: has {len(keys)} keys, must have 1 or {KEYS_PER_PEER}')
    return keys


def _keys(path: str, *, secret: bool = False) -> list[bytes]:
    try:
        with open(path, encoding='ascii') as stream:
            text = stream.read(MAX_FILE + 1)
    except OSError as error:
        raise ConfigurationError(f'{path}: cannot be read ({error.strerror})') from None
    except ValueError:
        raise ConfigurationError(f'{path}: is not a text file of keys') from None
    if len(text) > MAX_FILE:
        raise ConfigurationError(f'{path}: is longer than {MAX_FILE} bytes')
    keys = []
    for number, line in enumerate(text.splitlines(), 1):
        word = line.strip()
        if not word or word.startswith('#'):
            continue
        if not _KEY.fullmatch(word):
            # a secret is never shown, not even a damaged one
            shown = '' if secret else f' {word[:20]!r}'
            raise ConfigurationError(
                f'{path}, line {number}:{shown} is not a key of {2 * KEY_BYTES} hexadecimal digits'
            )
        keys.append(bytes.fromhex(word))
    return keys


def _new_pair() -> KeyPair:
    public, secret = zmq.curve_keypair()
    return KeyPair(public=z85.decode(public), secret=z85.decode(secret))


def _pair(secret: bytes) -> KeyPair:
    return KeyPair(public=z85.decode(zmq.curve_public(z85.encode(secret))), secret=secret)
