import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { StartRefusal } from '../core/start-refusal.ts'
import { type Config, InformationRequest, readConfig } from './config.ts'

let cwd: string
before(() => {
  cwd = mkdtempSync(join(tmpdir(), 'hyperplane-config-'))
})
after(() => rmSync(cwd, { recursive: true }))

/** Reads `yaml` through `--config`, so that the tests can share one working directory. */
function readYaml(yaml: string, argv: string[] = [], env = {}): Config {
  const file = join(mkdtempSync(join(cwd, 'case-')), 'settings.yaml')
  writeFileSync(file, yaml)
  return readConfig(['--config', file, ...argv], env, cwd)
}

function refusal(read: () => unknown): string {
  try {
    read()
  } catch (error) {
    assert.ok(error instanceof StartRefusal, String(error))
    assert.doesNotMatch(error.message, /\n/)
    return error.message
  }
  assert.fail('accepted')
}

test('without options every setting has its default', () => {
  assert.deepEqual(readConfig([], {}, cwd), {
    host: '127.0.0.1',
    port: 9440,
    data: join(cwd, 'data'),
    seed: 'demo',
    rateLimits: 'on',
    limits: 'real-time',
    tier: 'small',
    haReservation: 'off',
    names: 'spec',
    durations: 'instant',
    clock: 'real',
    versions: 'strict',
    lockout: 'on',
    control: 'on',
    standby: false,
    importMebibytes: 400,
    http: false,
    publicUrl: undefined,
    tlsCert: undefined,
    tlsKey: undefined,
    masterKeyFile: undefined,
    backupKeyFile: undefined,
    allowAddress: [],
    allowOutbound: false,
    offline: false,
    adminPassword: undefined,
    backupKey: undefined,
    objectStore: undefined,
    objectStoreRegion: 'us-east-1',
    objectStoreKeyFile: undefined,
    objectStoreKey: undefined,
  })
})

test('the command line wins over the environment, the environment over the file, the file over the default', () => {
  const yaml = 'port: 1\ntier: large\nnames: public\n'
  const env = { HYPERPLANE_PORT: '2', HYPERPLANE_TIER: 'xlarge', PATH: '/bin' }
  const { port, tier, names, lockout } = readYaml(yaml, ['--port', '3'], env)
  assert.deepEqual({ port, tier, names, lockout }, { port: 3, tier: 'xlarge', names: 'public', lockout: 'on' })
})

test('hyperplane.yaml of the working directory is read unless another file is named', () => {
  const folder = mkdtempSync(join(cwd, 'folder-'))
  writeFileSync(join(folder, 'hyperplane.yaml'), 'rate-limits: off\nhttp: true\nclock: 60\n')
  writeFileSync(join(folder, 'other.yaml'), '# nothing\n')
  const { rateLimits, http, clock } = readConfig([], {}, folder)
  assert.deepEqual({ rateLimits, http, clock }, { rateLimits: 'off', http: true, clock: 60 })
  assert.equal(readConfig(['--config', 'other.yaml'], {}, folder).rateLimits, 'on')
  assert.equal(readConfig([], { HYPERPLANE_CONFIG: 'other.yaml' }, folder).rateLimits, 'on')
})

test('--allow-address may be repeated, and is a list in the file', () => {
  const networks = ['127.0.0.0/8', '::1']
  const argv = networks.flatMap((network) => ['--allow-address', network])
  assert.deepEqual(readConfig(argv, {}, cwd).allowAddress, networks)
  assert.deepEqual(readConfig([], { HYPERPLANE_ALLOW_ADDRESS: '127.0.0.0/8, ::1' }, cwd).allowAddress, networks)
  assert.deepEqual(readYaml('allow-address: [127.0.0.0/8, "::1"]\n').allowAddress, networks)
  assert.deepEqual(readYaml('allow-address: 10.1.2.3\n').allowAddress, ['10.1.2.3'])
  assert.match(
    refusal(() => readConfig(['--allow-address', '127.0.0.1/99'], {}, cwd)),
    /--allow-address is "127\.0\.0\.1\/99": give networks such as 127\.0\.0\.0\/8/,
  )
})

test('relative paths start from the working directory; those in a settings file, from the folder of the file', () => {
  const folder = mkdtempSync(join(cwd, 'folder-'))
  const file = join(folder, 'settings.yaml')
  writeFileSync(file, 'data: kept\nseed: worlds/one.yaml\n')
  const config = readConfig(['--config', file, '--master-key-file', 'key'], {}, cwd)
  assert.equal(config.data, join(folder, 'kept'))
  assert.deepEqual(config.seed, { file: join(folder, 'worlds/one.yaml') })
  assert.equal(config.masterKeyFile, join(cwd, 'key'))
})

describe('values', () => {
  const accepted: [string[], Partial<Config>][] = [
    [['--port', '0'], { port: 0 }],
    [['--clock', 'frozen'], { clock: 'frozen' }],
    [['--clock=0.5'], { clock: 0.5 }],
    [['--host', '[::1]', '--http'], { host: '::1', http: true }],
    [['--host', 'LOCALHOST', '--http'], { host: 'localhost', http: true }],
    [['--host', '127.8.0.1', '--http'], { host: '127.8.0.1' }],
    [['--host', 'node-1.example'], { host: 'node-1.example' }],
    [['--public-url', 'https://hp.example:8443/'], { publicUrl: 'https://hp.example:8443' }],
    [['--object-store-region', 'eu-west-1'], { objectStoreRegion: 'eu-west-1' }],
    [['--tls-cert', '/c.pem', '--tls-key', '/k.pem'], { tlsCert: '/c.pem', tlsKey: '/k.pem' }],
  ]
  for (const [argv, expected] of accepted) {
    test(`accepts ${argv.join(' ')}`, () => {
      assert.partialDeepStrictEqual(readConfig(argv, {}, cwd), expected)
    })
  }

  const refused: [string[], RegExp][] = [
    [['--port', '65536'], /--port is "65536": give a number from 0 to 65535\.$/],
    [['--port', '-1'], /--port is "-1"/],
    [['--port', '1e3'], /--port is "1e3"/],
    [['--host', '1.2.3'], /--host is "1.2.3": give an IP address or a host name/],
    [['--host', 'a b'], /--host/],
    [['--data', ''], /--data is empty/],
    [['--data', '--http'], /--data has no value/],
    [['--data'], /--data <DIR>' argument missing/],
    [['--seed', 'dmeo'], /--seed is "dmeo": give empty, tiny, demo, lab, large, or a file whose name ends in \.yaml/],
    [['--rate-limits', 'On'], /give on, report or off/],
    [['--tier', 'medium'], /give xsmall, small, large or xlarge/],
    [['--clock', '0'], /--clock is "0": give real, frozen, or a number above 0/],
    [['--clock', 'Infinity'], /--clock/],
    [['--public-url', 'hp.example'], /--public-url/],
    [['--public-url', 'ftp://hp.example'], /--public-url/],
    [['--public-url', 'https://hp.example/api'], /--public-url/],
    [['--object-store', 'http://s3.example'], /--object-store is .*: give an https:\/\/ URL .* only for this machine/],
    [['--object-store', 'https://s3.example/bucket'], /--object-store is .*without path/],
    [['--object-store', 's3.example'], /--object-store is/],
    [
      ['--object-store', 'https://s3.example'],
      /--object-store is given without an access key: .*HYPERPLANE_OBJECT_STORE_KEY/,
    ],
    [['--object-store', 'https://s3.example', '--offline'], /--object-store: s3\.example .*--offline/],
    [
      ['--object-store', 'http://127.0.0.1:9000'],
      /--object-store: 127\.0\.0\.1 is a loopback address.*--allow-address/,
    ],
    [['--object-store-region', 'eu west'], /--object-store-region is "eu west"/],
    [['--object-store-key-file', 'key'], /--object-store-key-file is given without --object-store/],
    [['--tls-cert', 'c.pem'], /--tls-cert is given without --tls-key/],
    [['--tls-key', 'k.pem'], /--tls-key is given without --tls-cert/],
    [['--http', '--host', '0.0.0.0'], /--http on 0\.0\.0\.0 would send passwords readable/],
    [['--http', '--tls-cert', 'c', '--tls-key', 'k'], /--http uses no certificate/],
    [['--offline', '--allow-outbound'], /--offline calls no other machine, which --allow-outbound asks for/],
    [['--prot', '1'], /unknown option '--prot' \(Did you mean --port\?\): run "npm start -- --help"/],
    [['demo'], /"demo" belongs to no option/],
    [['--config', 'absent.yaml'], /absent\.yaml cannot be read \(ENOENT\)/],
  ]
  for (const [argv, expected] of refused) {
    test(`refuses ${argv.join(' ')}`, () =>
      assert.match(
        refusal(() => readConfig(argv, {}, cwd)),
        expected,
      ))
  }
})

describe('environment', () => {
  const refused: [Record<string, string>, RegExp][] = [
    [{ HYPERPLANE_PROT: '1' }, /The variable HYPERPLANE_PROT is unknown/],
    [{ HYPERPLANE_port: '1' }, /The variable HYPERPLANE_port is unknown/],
    [{ HYPERPLANE_PORT: 'x' }, /HYPERPLANE_PORT is "x": give a number/],
    [{ HYPERPLANE_PORT: '' }, /HYPERPLANE_PORT is empty/],
    [{ HYPERPLANE_HTTP: '1' }, /HYPERPLANE_HTTP is "1": give true or false/],
    [{ HYPERPLANE_ADMIN_PASSWORD: '' }, /HYPERPLANE_ADMIN_PASSWORD is empty/],
  ]
  for (const [env, expected] of refused) {
    test(`refuses ${JSON.stringify(env)}`, () =>
      assert.match(
        refusal(() => readConfig([], env, cwd)),
        expected,
      ))
  }
})

describe('file', () => {
  const refused: [string, RegExp][] = [
    ['tier: large\nprot: 1\n', /settings\.yaml:2:1: prot is unknown: use one of host, port, /],
    ['rateLimits: on\n', /:1:1: rateLimits is unknown/],
    ['port: x\n', /settings\.yaml:1:1: port is "x": give a number/],
    ['port: 0x10\n', /port is "0x10"/],
    ['port:\n', /:1:1: port has no plain value/],
    ['port: [1]\n', /port has no plain value/],
    ['port: 1\nport: 2\n', /settings\.yaml:2:1: Map keys must be unique/],
    ['port: "1\n', /settings\.yaml:\d+:\d+: /],
    ['- port\n', /:1:1: expected lines of "option: value"/],
    ['config: other.yaml\n', /config is unknown/],
  ]
  for (const [yaml, expected] of refused) {
    test(`refuses ${JSON.stringify(yaml)}`, () =>
      assert.match(
        refusal(() => readYaml(yaml)),
        expected,
      ))
  }
})

test('the password of admin is read only from the environment, and no message quotes it', () => {
  const secret = 'Tr0ub4dor&3'
  assert.equal(readConfig([], { HYPERPLANE_ADMIN_PASSWORD: secret }, cwd).adminPassword, secret)
  const refusals = [
    refusal(() => readConfig(['--admin-password', secret], {}, cwd)),
    refusal(() => readConfig([`--admin-password=${secret}`], {}, cwd)),
    refusal(() => readYaml(`admin-password: ${secret}\n`)),
    refusal(() => readYaml(`adminPassword: ${secret}\n`)),
  ]
  for (const message of refusals) assert.match(message, /only from the variable HYPERPLANE_ADMIN_PASSWORD/)
  const mistyped = [
    refusal(() => readConfig([`--admin-pasword=${secret}`], {}, cwd)),
    refusal(() => readConfig([], { HYPERPLANE_ADMIN_PASWORD: secret }, cwd)),
    refusal(() => readYaml(`admin-pasword: ${secret}\n`)),
    refusal(() => readConfig(['--port', 'x'], { HYPERPLANE_ADMIN_PASSWORD: secret }, cwd)),
  ]
  for (const message of [...refusals, ...mistyped]) assert.ok(!message.includes(secret), message)
})

test('--help and --version print text instead of starting, even if the environment has faults', () => {
  const textOf = (argv: string[]) => {
    try {
      readConfig(argv, { HYPERPLANE_NONSENSE: '1' }, cwd)
    } catch (error) {
      assert.ok(error instanceof InformationRequest, String(error))
      return error.text
    }
    assert.fail('started')
  }
  assert.match(textOf(['--version']), /^\d+\.\d+\.\d+\n$/)
  const help = textOf(['--help'])
  for (const word of [
    '--rate-limits <on|report|off>',
    '--master-key-file <FILE>',
    '(default: 9440)',
    'hyperplane.yaml',
  ]) {
    assert.ok(help.includes(word), word)
  }
})

test('the access key of the object store is read from the environment or a file, and no message quotes it', () => {
  const argv = ['--object-store', 'https://s3.example']
  const key = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalr:XUtn/FEMI+K7' }
  const written = `${key.accessKeyId}:${key.secretAccessKey}`
  const env = { HYPERPLANE_OBJECT_STORE_KEY: written }
  const ofVariable = readConfig(argv, env, cwd)
  assert.deepEqual([ofVariable.objectStore, ofVariable.objectStoreKey], ['https://s3.example', key])
  writeFileSync(join(cwd, 'access-key'), `${written}\n`)
  const withFile = [...argv, '--object-store-key-file', 'access-key']
  assert.deepEqual(readConfig(withFile, {}, cwd).objectStoreKey, key)
  writeFileSync(join(cwd, 'malformed'), key.secretAccessKey.replace(':', ''))
  assert.equal(readConfig([], env, cwd).objectStoreKey, undefined)
  const refusals = [
    refusal(() => readConfig(withFile, env, cwd)),
    refusal(() => readConfig(argv, { HYPERPLANE_OBJECT_STORE_KEY: 'AKIDEXAMPLE' }, cwd)),
    refusal(() => readConfig([...argv, '--object-store-key-file', 'absent'], {}, cwd)),
    refusal(() => readConfig([...argv, '--object-store-key-file', 'malformed'], {}, cwd)),
    refusal(() => readYaml(`object-store-key: ${written}\n`)),
  ]
  for (const message of refusals) {
    assert.match(message, /object.store.key/i)
    assert.doesNotMatch(message, /AKIDEXAMPLE|wJalr/)
  }
})

test('a backup key in a file and another in the environment are refused together', () => {
  assert.equal(readConfig(['--backup-key-file', 'key'], {}, cwd).backupKeyFile, join(cwd, 'key'))
  const env = { HYPERPLANE_BACKUP_KEY: 'c2VjcmV0' }
  assert.equal(readConfig([], env, cwd).backupKey, 'c2VjcmV0')
  const message = refusal(() => readConfig(['--backup-key-file', 'key'], env, cwd))
  assert.match(message, /HYPERPLANE_BACKUP_KEY and --backup-key-file/)
  assert.doesNotMatch(message, /c2VjcmV0/)
})
