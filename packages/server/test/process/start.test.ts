/** The real process: its output, its exit codes, and its restart after any end. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { before, describe, test } from 'node:test'
import { type Launch, launch, newFolder, parent, start } from '../support/service-process.ts'

const users = '/api/iam/v4.1.b2/authn/users'

/** Runs a process that should end by itself. A process that serves instead is killed, which its exit code shows. */
async function outcome({ argv = [], ...rest }: Launch) {
  const child = launch({ argv: argv.includes('--port') ? argv : ['--port', '0', ...argv], ...rest })
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk
    if (stdout.includes('Ready in ')) child.kill('SIGKILL')
  })
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
  return { stdout, stderr, code }
}

/** The content of the world does not matter for most tests, and takes time. */
const startEmpty = (data: string, { argv = [], ...rest }: Launch = {}) =>
  start(data, { argv: ['--seed', 'empty', ...argv], ...rest })

/** Status of listUsers for these credentials, by a client that trusts only the certificate of the service. */
async function statusOf(url: string, data: string, credentials?: string): Promise<number | undefined> {
  const options = { ca: readFileSync(join(data, 'tls', 'cert.pem')), auth: credentials, agent: false }
  const sent = request(new URL(users, url), options).end()
  const [response] = await once(sent, 'response')
  response.resume()
  return response.statusCode
}

async function refusal(what: Launch): Promise<string> {
  const { stdout, stderr, code } = await outcome(what)
  assert.equal(stdout, '')
  assert.match(stderr, /^[^\n]+\n$/)
  assert.equal(code, 1)
  return stderr.trim()
}

describe('the first start of a folder, and the next one', () => {
  const data = () => join(parent, 'data')
  // As users start it: the compile cache is in the data folder.
  const plainly = { env: { NODE_COMPILE_CACHE: '' } }
  let first: Awaited<ReturnType<typeof seen>>
  let second: Awaited<ReturnType<typeof seen>>
  let password: string | undefined
  before(async () => {
    first = await seen('SIGTERM')
    second = await seen('SIGINT')
  })

  async function seen(signal: 'SIGTERM' | 'SIGINT') {
    const { url, lines, end } = await start(data(), plainly)
    const printed = lines.join('\n')
    password ??= /Password\s+(\S+)/.exec(printed)?.[1]
    const statuses = [await statusOf(url, data()), await statusOf(url, data(), `admin:${password}`)]
    return { url, printed, statuses, code: await end(signal) }
  }

  test('only the owner can read the folder', { skip: process.platform === 'win32' && 'no modes there' }, () => {
    assert.equal(statSync(data()).mode & 0o777, 0o700)
  })

  test('each start prints URL, certificate and folder, serves, and exits 0 on SIGTERM and on SIGINT', () => {
    for (const { url, printed, statuses, code } of [first, second]) {
      for (const what of [url, 'admin', join(data(), 'tls', 'cert.pem'), data()])
        assert.ok(printed.includes(what), what)
      assert.equal(statuses[0], 401)
      assert.equal(code, 0)
    }
    assert.ok(existsSync(join(data(), 'cache')))
  })

  test('a generated password is printed only at the first start, works, and is not stored in the data folder', () => {
    assert.ok(password !== undefined)
    assert.doesNotMatch(second.printed, /Password/)
    for (const { statuses } of [first, second]) assert.equal(statuses[1], 200)
    for (const file of readdirSync(data(), { recursive: true, withFileTypes: true }))
      if (file.isFile())
        assert.ok(!readFileSync(join(file.parentPath, file.name)).includes(password), join(file.parentPath, file.name))
  })

  test('the backup key is printed only at the first start, and is the key in its file', () => {
    const key = /Backup key\s+(\S+)/.exec(first.printed)?.[1]
    assert.equal(readFileSync(join(data(), 'backup.key'), 'utf8').trim(), key)
    assert.doesNotMatch(second.printed, /Backup key/)
  })
})

describe('start', () => {
  test('a configured password works and is not printed', async () => {
    const data = newFolder()
    const password = 'Correct-horse-1'
    const service = await startEmpty(data, { env: { HYPERPLANE_ADMIN_PASSWORD: password } })
    assert.ok(!service.lines.join('\n').includes(password))
    assert.equal(await statusOf(service.url, data, `admin:${password}`), 200)
    await service.end('SIGTERM')
  })

  test('a password generated for a start that then fails is not lost', async () => {
    const data = newFolder()
    const holder = await startEmpty(newFolder())
    const { port } = new URL(holder.url)
    const failed = await outcome({ argv: ['--port', port, '--data', data] })
    assert.match(
      failed.stderr,
      /^Port \d+ on 127\.0\.0\.1 is taken: stop what listens there, or choose another with --port [^\n]+\n$/,
    )
    assert.equal(failed.code, 1)
    const password = /Password\s+(\S+)/.exec(failed.stdout)?.[1]

    const service = await startEmpty(data)
    assert.equal(await statusOf(service.url, data, `admin:${password}`), 200)
    await Promise.all([service.end('SIGTERM'), holder.end('SIGTERM')])
  })

  test('a killed instance does not block the next start', async () => {
    const data = newFolder()
    const first = await startEmpty(data)
    await first.end('SIGKILL')
    const second = await startEmpty(data)
    assert.equal(await second.end('SIGTERM'), 0)
  })

  test('--http serves without a certificate', async () => {
    const service = await startEmpty(newFolder(), { argv: ['--http'] })
    assert.match(service.url, /^http:/)
    assert.doesNotMatch(service.lines.join('\n'), /Certificate/)
    assert.equal((await fetch(new URL(users, service.url))).status, 401)
    await service.end('SIGTERM')
  })

  test('--help and --version answer and exit 0', async () => {
    const [help, version] = await Promise.all([outcome({ argv: ['--help'] }), outcome({ argv: ['--version'] })])
    assert.match(help.stdout, /--master-key-file/)
    assert.match(version.stdout, /^\d+\.\d+\.\d+\n$/)
    for (const { stderr, code } of [help, version]) assert.deepEqual({ stderr, code }, { stderr: '', code: 0 })
  })
})

describe('refuses in one line and exits 1', () => {
  test('an older Node', async () => {
    const asOld = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.20.2'})"
    assert.match(
      await refusal({ nodeOptions: ['--import', asOld] }),
      /^Hyperplane needs Node 24\.7 or newer and this is 20\.20\.2: run /,
    )
  })

  test('an unknown option, a bad value, an unknown variable', async () => {
    const [option, value, variable] = await Promise.all([
      refusal({ argv: ['--prot', '1'] }),
      refusal({ argv: ['--port', 'x'] }),
      refusal({ env: { HYPERPLANE_PROT: '1' } }),
    ])
    assert.match(option, /unknown option '--prot'/)
    assert.match(value, /--port is "x"/)
    assert.match(variable, /HYPERPLANE_PROT is unknown/)
  })

  test('a folder that cannot be written', async () => {
    const file = join(newFolder(), 'file')
    writeFileSync(file, '')
    assert.match(await refusal({ argv: ['--data', file] }), /cannot be written/)
  })

  test('a second instance on the same folder', async () => {
    const data = newFolder()
    const first = await startEmpty(data)
    assert.match(await refusal({ argv: ['--port', '0', '--data', data] }), /is in use by another instance/)
    assert.equal(await statusOf(first.url, data), 401)
    await first.end('SIGTERM')
  })

  test('a missing and a wrong master key; the right one starts again', async () => {
    const data = newFolder()
    await (await startEmpty(data)).end('SIGTERM')
    const keyFile = join(data, 'master.key')
    const key = readFileSync(keyFile, 'utf8')

    rmSync(keyFile)
    assert.match(await refusal({ argv: ['--data', data] }), /The master key .+ is missing: put it back/)
    writeFileSync(keyFile, Buffer.alloc(32, 1).toString('base64'))
    assert.match(await refusal({ argv: ['--data', data] }), /is not the one that the data folder .+ was made with/)
    writeFileSync(keyFile, key)
    await (await startEmpty(data)).end('SIGTERM')
  })

  test('a damaged data file, which stays unchanged', async () => {
    const data = newFolder()
    await (await startEmpty(data)).end('SIGTERM')
    const file = join(data, 'world.sqlite')
    const damaged = Buffer.alloc(8192, 'damaged')
    writeFileSync(file, damaged)
    assert.match(await refusal({ argv: ['--data', data] }), /world\.sqlite/)
    assert.deepEqual(readFileSync(file), damaged)
  })

  test('a seed that cannot be read', async () => {
    const seed = join(newFolder(), 'seed.yaml')
    assert.match(await refusal({ argv: ['--data', newFolder(), '--seed', seed] }), /seed\.yaml/)
    writeFileSync(seed, 'clusters:\n  - name: [\n')
    assert.match(await refusal({ argv: ['--data', newFolder(), '--seed', seed] }), /seed\.yaml.*\b[23]\b/)
  })
})
