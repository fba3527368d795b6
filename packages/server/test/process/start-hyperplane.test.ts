/** `startHyperplane`: the service in the process of a test. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ApiRefusal, type HyperplaneOptions, StartRefusal, startHyperplane } from '@hyperplane/server'

let parent: string
/** The folder for temporary folders of this process only. */
let temporary: string
before(() => {
  parent = mkdtempSync(join(tmpdir(), 'hyperplane-embedded-'))
  temporary = join(parent, 'temporary')
  mkdirSync(temporary)
  process.env['TMPDIR'] = temporary
})
after(() => rmSync(parent, { recursive: true }))

const start = (options: HyperplaneOptions = {}) => startHyperplane({ seed: 'empty', ...options })
const refused =
  (status: number) =>
  (error: unknown): boolean =>
    error instanceof ApiRefusal && error.status === status

test('two services in one process have separate rows, passwords and clocks', async () => {
  await using first = await start({ clock: 'frozen', startTime: '2026-01-01T00:00:00Z' })
  await using second = await start({ clock: 'frozen', startTime: new Date('2027-01-01T00:00:00Z') })
  assert.notEqual(first.url, second.url)
  const { data: created } = await first.client.platform.createCategory({ body: { key: 'team', value: 'first' } })
  const path = { extId: created.extId }
  await first.client.platform.getCategoryById({ path })
  await assert.rejects(second.client.platform.getCategoryById({ path }), refused(404))
  const stranger = second.as({ username: 'admin', password: first.adminPassword })
  await assert.rejects(stranger.platform.listCategories(), refused(401))
  await first.control.advanceClock({ body: { duration: 'P1D' } })
  assert.match((await first.control.getClock()).data.time, /^2026-01-02T/)
  assert.match((await second.control.getClock()).data.time, /^2027-01-01T/)
})

test('the client completes tasks, and supports pages, filters and refusals', async () => {
  await using hyperplane = await start({ seed: 'tiny' })
  const { client } = hyperplane
  const { data: vms, total } = await client.vmm.listVms({ filter: "name eq 'vm-3'" })
  assert.equal(total, 1)
  const { etag } = await client.vmm.getVmById({ path: { extId: vms[0]!.extId } })
  const task = await client.completed(
    await client.vmm.powerOnVm({ path: { extId: vms[0]!.extId }, ...(etag === undefined ? {} : { ifMatch: etag }) }),
  )
  assert.equal(task.status, 'SUCCEEDED')
  await assert.rejects(client.vmm.listVms({ filter: 'colour eq 1' }), refused(400))
})

test('a client is bound to one world; calls without a world go to default', async () => {
  await using hyperplane = await start()
  const { client, control } = hyperplane
  await control.createWorld({ body: { name: 'left', preset: 'empty', adminPassword: 'Left.Passw0rd!' } })
  await control.createWorld({ body: { name: 'right', preset: 'empty' } })
  const left = hyperplane.world('left', { username: 'admin', password: 'Left.Passw0rd!' })
  await left.platform.createCategory({ body: { key: 'team', value: 'left' } })
  const filter = "key eq 'team'"
  assert.equal((await left.platform.listCategories({ filter })).total, 1)
  assert.equal((await hyperplane.world('right').platform.listCategories({ filter })).total, 0)
  assert.equal((await client.platform.listCategories({ filter })).total, 0)
  await assert.rejects(hyperplane.world('nowhere').platform.listCategories(), refused(404))
  await control.freezeClock({ path: { worldName: 'left' } })
  assert.equal((await control.getClock({ path: { worldName: 'left' } })).data.mode, 'frozen')
  assert.equal((await control.getClock()).data.mode, 'real')
})

test('closing frees the port and removes the temporary folder; a second close does nothing', async () => {
  const hyperplane = await start()
  const port = Number(new URL(hyperplane.url).port)
  assert.equal(readdirSync(temporary).length, 1)
  await hyperplane.client.platform.listCategories()
  await hyperplane.close()
  await hyperplane.close()
  assert.deepEqual(readdirSync(temporary), [])
  const next = createServer()
  await new Promise<void>((resolve, reject) => next.once('error', reject).listen(port, '127.0.0.1', resolve))
  await new Promise((resolve) => next.close(resolve))
})

test('a configured data folder stays, and opens again with its password', async () => {
  const data = join(parent, 'kept')
  const first = await start({ data, adminPassword: 'Kept.Passw0rd!' })
  await first.client.platform.createCategory({ body: { key: 'team', value: 'kept' } })
  await first.close()
  await assert.rejects(start({ data }), /was used before: give the adminPassword/)
  await using second = await start({ data, adminPassword: 'Kept.Passw0rd!' })
  assert.equal((await second.client.platform.listCategories({ filter: "key eq 'team'" })).total, 1)
})

test('with https, the included client and clients that trust the file accept the certificate', async () => {
  await using hyperplane = await start({ https: true })
  assert.match(hyperplane.url, /^https:/)
  assert.match(readFileSync(hyperplane.certificate!, 'utf8'), /BEGIN CERTIFICATE/)
  assert.ok((await hyperplane.client.platform.listCategories()).total! > 0)
  assert.equal((await hyperplane.control.listWorlds()).total, 1)
  await using plain = await start()
  assert.equal(plain.certificate, undefined)
})

test('a seed may be a text or a file', async () => {
  const text = 'extends: tiny\nvms:\n  - { name: from-text }\n'
  const file = join(parent, 'seed.yaml')
  writeFileSync(file, text.replace('from-text', 'from-file'))
  for (const [seed, name] of [
    [{ text }, 'from-text'],
    [{ file }, 'from-file'],
  ] as const) {
    await using hyperplane = await start({ seed })
    assert.equal((await hyperplane.client.vmm.listVms({ filter: `name eq '${name}'` })).total, 1)
  }
})

test('with control off, the paths of the control interface are 404', async () => {
  await using hyperplane = await start({ control: 'off' })
  await assert.rejects(hyperplane.control.listWorlds(), refused(404))
})

describe('refuses with a remedy, and leaves nothing behind', () => {
  const refusals: readonly (readonly [string, object, RegExp])[] = [
    ['an unknown option', { rateLimit: 'on' }, /rateLimit is unknown: use one of .*rateLimits/],
    ['an invalid value', { clock: 'fast' }, /clock is "fast": give real, frozen, or a number/],
    ['an invalid time', { startTime: 'tomorrow' }, /startTime is "tomorrow": give a time such as/],
    ['a seed with faults', { seed: { text: 'vms: 3\n' } }, /The seed.*1/s],
  ]
  for (const [title, options, message] of refusals) {
    test(title, async () => {
      await assert.rejects(start(options as HyperplaneOptions), (error: Error) => {
        assert.ok(error instanceof StartRefusal, String(error))
        assert.match(error.message, message)
        return true
      })
      assert.deepEqual(readdirSync(temporary), [])
    })
  }
})

test('nothing is printed, and the process ends by itself', async () => {
  const script = `
    import { startHyperplane } from '@hyperplane/server'
    await using hyperplane = await startHyperplane({ seed: 'tiny' })
    await hyperplane.client.vmm.listVms()
    await hyperplane.as({ username: 'admin', password: 'wrong' }).vmm.listVms().catch(() => undefined)`
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    cwd: fileURLToPath(new URL('../../../..', import.meta.url)),
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], TMPDIR: temporary },
  })
  assert.deepEqual({ stdout, stderr }, { stdout: '', stderr: '' })
})
