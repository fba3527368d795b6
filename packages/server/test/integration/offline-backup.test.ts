/**
 * The operator's commands on a bucket of a real S3 service: a trial, and a restore without a service.
 * Source: behaviour platform.md 8 (verification, place), 9 (offline).
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { inBucket, made, ownManager } from '../support/backups.ts'
import { checkInvariants } from '../support/invariants.ts'
import { assertKept, type Keepsakes, leaveKeepsakes } from '../support/keepsakes.ts'
import { type Backup, backupOf } from '../support/restoring.ts'
import { startApp } from '../support/start-app.ts'
import { accessKeyId, bucket, type S3Server, secretAccessKey, startS3Server } from './s3-server.ts'

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const config = { allowAddress: ['127.0.0.0/8'] }
const parent = mkdtempSync(join(tmpdir(), 'hyperplane-offline-bucket-'))
const authority = join(parent, 'authority.pem')
const credentials = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey }

let server: S3Server
let keepsakes: Keepsakes
let backup: Backup
let from: string
before(async () => {
  server = await startS3Server()
  writeFileSync(authority, server.certificate)
  from = `s3://${bucket}?endpoint=https://127.0.0.1:${server.port}&region=us-east-1`
  const connectionConfig = {
    ipAddressOrHostname: { ipv4: { value: '127.0.0.1' } },
    port: server.port,
    certificate: server.certificate,
  }
  const target = { bucketName: bucket, credentials: { accessKeyId, secretAccessKey }, connectionConfig }
  const app = await startApp({ config })
  try {
    keepsakes = await leaveKeepsakes(app)
    await made(app, inBucket(target))
    backup = await backupOf(app, inBucket(target))
  } finally {
    await app.close()
  }
})
after(async () => {
  await server.remove()
  rmSync(parent, { recursive: true, force: true })
})

interface Ended {
  readonly code: number
  readonly out: string
  readonly error: string
}

/** The command as an operator enters it. */
function run(argv: readonly string[], env: object = {}): Promise<Ended> {
  const environment = {
    PATH: process.env['PATH'],
    HYPERPLANE_BACKUP_KEY: backup.backupKey,
    AWS_CA_BUNDLE: authority,
    ...credentials,
    ...env,
  }
  return new Promise((resolve) => {
    const program = ['--disable-warning=ExperimentalWarning', main, ...argv]
    execFile(process.execPath, program, { cwd: parent, env: environment as NodeJS.ProcessEnv }, (fault, out, error) => {
      assert.ok(!`${out}${error}`.includes(secretAccessKey))
      resolve({ code: Number(fault?.code ?? 0), out, error })
    })
  })
}

/** Folder of the restore point. */
const backupsBelow = (): string => join('hyperplane-backups', ownManager, backup.restorePointExtId)

const restoreTo = (data: string, place = from): string[] => {
  return ['restore', '--from', place, '--point', backup.restorePointExtId, '--data', data]
}

test('an empty folder becomes the manager whose backup lies in a bucket', async () => {
  const data = join(parent, 'restored')
  const { code, out, error } = await run(restoreTo(data))
  assert.deepEqual([code, error], [0, ''])
  assert.match(out, /The manager "PC_10\.44\.1\.9" .* as of /)
  const app = await startApp({ folder: data, config: { ...config, backupKey: backup.backupKey } })
  try {
    await assertKept(app, keepsakes)
    await checkInvariants(app)
  } finally {
    await app.close()
  }
})

test('a trial restore reads from a bucket, also a copy below a prefix', async () => {
  const { code, out, error } = await run(['check-backup', '--from', from])
  assert.deepEqual([code, error], [0, ''])
  assert.match(out, new RegExp(`^Restore point ${backup.restorePointExtId} `))
  const folder = join(server.folder, bucket)
  cpSync(join(folder, 'hyperplane-backups'), join(folder, 'copies', 'of march', 'hyperplane-backups'), {
    recursive: true,
  })
  const below = from.replace('?', '/copies/of%20march?')
  assert.equal((await run(['check-backup', '--from', below])).code, 0)
  const nothing = await run(['check-backup', '--from', from.replace('?', '/elsewhere?')])
  assert.equal(nothing.code, 2)
  assert.match(nothing.error, /no complete restore point/)
})

test('endpoint and region may come from the environment variables that other tools read', async () => {
  const env = { AWS_ENDPOINT_URL: `https://127.0.0.1:${server.port}`, AWS_REGION: 'us-east-1' }
  assert.equal((await run(['check-backup', '--from', `s3://${bucket}`], env)).code, 0)
})

test('wrong keys, missing keys, an untrusted authority and a missing bucket have different errors, and nothing is created', async () => {
  const data = join(parent, 'refused')
  const refusals: [object, string, RegExp][] = [
    [{ AWS_SECRET_ACCESS_KEY: 'not-the-secret-of-this-key' }, from, /access/i],
    [{ AWS_SECRET_ACCESS_KEY: '' }, from, /AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/],
    [{ AWS_SESSION_TOKEN: 'x' }, from, /AWS_SESSION_TOKEN/],
    [{ AWS_CA_BUNDLE: '' }, from, /certificate/i],
    [{ AWS_CA_BUNDLE: join(parent, 'none.pem') }, from, /AWS_CA_BUNDLE cannot be read \(ENOENT\)/],
    [{}, from.replace(bucket, 'no-such-bucket'), /no-such-bucket/],
    [{}, from.replace(`:${server.port}`, ':1'), /refuses the connection/],
  ]
  for (const [env, place, expected] of refusals) {
    const { code, out, error } = await run(restoreTo(data, place), env)
    assert.deepEqual([code, out], [1, ''], error)
    assert.match(error, expected)
    assert.doesNotMatch(error, /\n\s+at /)
    assert.ok(!existsSync(join(data, 'world.sqlite')))
    assert.ok(!existsSync(join(data, 'restoring.sqlite')))
    assert.equal((await run(['check-backup', '--from', place], env)).code, 2)
  }
})

test('a part that was changed in the bucket is named, and nothing is created', async () => {
  const part = join(server.folder, bucket, backupsBelow(), 'part-00001')
  const content = readFileSync(part)
  writeFileSync(
    part,
    content.map((byte, index) => (index === 50 ? byte ^ 1 : byte)),
  )
  const data = join(parent, 'damaged')
  const restored = await run(restoreTo(data))
  assert.equal(restored.code, 1)
  assert.match(restored.error, /part-00001/)
  assert.ok(!existsSync(join(data, 'world.sqlite')))
  const checked = await run(['check-backup', '--from', from])
  assert.equal(checked.code, 1)
  assert.match(checked.out, /broken: its part part-00001 is damaged/)
})
