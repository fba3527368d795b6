/** generateConsoleTokenById: who sees the token, and what it opens. Source: behaviour vmm.md 1.0, 1.1, 1.16, 2. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import type { SecretReader } from '../../../src/core/world.ts'
import { ConsoleToken, redeemConsoleToken } from '../../../src/domains/vmm/vm/console-token.ts'
import { http } from '../../support/http.ts'
import { aUser } from '../../support/identities.ts'
import { callsOf } from '../../support/journal.ts'
import { aNativeCluster, aVm, bootDisk, changed, type NativeCluster, tagOf } from '../../support/native-cluster.ts'
import { sealerFor } from '../../support/sealer.ts'
import { exported } from '../../support/seeds.ts'
import { type CallOptions, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

const vms = '/vmm/v4.2/ahv/config/vms'
const tasks = '/platform/v4.3/config/tasks'
const expiry = 5 * 60_000

let app: TestApp
let url: string
let cluster: NativeCluster
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  url = (await app.listen()).url
  cluster = await aNativeCluster(app)
})
after(() => app.close())

async function running(): Promise<string> {
  const { extId } = await aVm(app, cluster, { disks: [bootDisk(cluster)] })
  assert.equal((await changed(app, extId, 'power-on')).status, 'SUCCEEDED')
  return extId
}
const generate = (vm: string, options: CallOptions = {}): Promise<CallResult> =>
  app.call('POST', `${vms}/${vm}/$actions/generate-console-token`, options)
async function tokenOf(vm: string): Promise<string> {
  const { completionDetails } = await app.task(await generate(vm))
  return completionDetails.find(({ name }: any) => name === 'VmConsoleToken').value
}
const secrets: SecretReader = {
  open: (kind, extId, path, value) =>
    sealerFor(app).open((value as { $sealed: string }).$sealed, `${kind}/${extId}/${path}`),
}
const redeem = async (vm: string, token: string): Promise<boolean> =>
  undefined !==
  (await app.store.transaction((store) => redeemConsoleToken({ clock: app.clock, secrets, store }, vm, token)))
const refused = ({ status, errors }: CallResult): unknown => [status, errors[0]?.code]

test('the owner of the task gets exactly a token and a relative path', async () => {
  const vm = await running()
  const tag = await tagOf(app, vm)
  const task = await app.task(await generate(vm))
  assert.equal(task.status, 'SUCCEEDED')
  assert.deepEqual([task.operation, task.operationDescription], ['GenerateConsoleToken', 'Generate Console Token'])
  assert.deepEqual(
    task.entitiesAffected.map(({ extId, rel }: any) => [extId, rel]),
    [[vm, 'vmm:ahv:config:vm']],
  )
  const [token, path, ...others] = task.completionDetails
  assert.deepEqual([token.name, path.name, others], ['VmConsoleToken', 'WsUri', []])
  assert.match(token.value, /^[0-9a-f-]{36}\.[\w-]{43}$/)
  assert.equal(path.value, `/console/vms/${vm}`)
  assert.equal(await tagOf(app, vm), tag)
})

test('another reader of the task sees no completion details, alone, in a list, and with $select', async () => {
  const vm = await running()
  const owner = await aUser(app, ['Virtual Machine Operator'])
  const { extId } = (await generate(vm, { as: owner })).data
  await app.runner.untilEnded(extId)
  const shownTo = async (as?: string): Promise<unknown[]> => {
    const options = as === undefined ? {} : { as }
    const filter = `$filter=${encodeURIComponent(`extId eq '${extId}'`)}`
    const answers = [
      (await app.call('GET', `${tasks}/${extId}`, options)).data,
      (await app.call('GET', `${tasks}/${extId}?$select=completionDetails`, options)).data,
      ...(await app.call('GET', `${tasks}?${filter}`, options)).data,
      ...(await app.call('GET', `${tasks}?${filter}&$select=completionDetails`, options)).data,
    ]
    return answers.map(({ completionDetails }) => completionDetails?.length)
  }
  assert.deepEqual(await shownTo(owner), [2, 2, 2, 2])
  assert.deepEqual(await shownTo(), [undefined, undefined, undefined, undefined])
})

test('a token opens the console of its VM once', async () => {
  const vm = await running()
  const token = await tokenOf(vm)
  assert.equal(await redeem(vm, token), true)
  assert.equal(await redeem(vm, token), false)
})

test('a token does not open the console of another VM, and stays valid for its own', async () => {
  const [vm, other] = [await running(), await running()]
  const token = await tokenOf(vm)
  assert.equal(await redeem(other, token), false)
  assert.equal(await redeem(vm, token), true)
})

test('a token with another signature, or with none, opens nothing', async () => {
  const vm = await running()
  const [first, second] = [await tokenOf(vm), await tokenOf(vm)]
  const [id, signature] = [first.split('.')[0], second.split('.')[1]]
  for (const token of [`${id}.${signature}`, `${id}.`, id as string, `${randomUUID()}.${signature}`, '', '.'])
    assert.equal(await redeem(vm, token), false, token)
  assert.equal(await redeem(vm, first), true)
})

test('a token expires after five minutes of the clock of the world', async () => {
  const vm = await running()
  const [early, late] = [await tokenOf(vm), await tokenOf(vm)]
  await app.clock.advance(expiry - 1)
  assert.equal(await redeem(vm, early), true)
  await app.clock.advance(1)
  assert.equal(await redeem(vm, late), false)
})

test('a token opens nothing while its VM is stopped', async () => {
  const vm = await running()
  const token = await tokenOf(vm)
  assert.equal((await changed(app, vm, 'power-off')).status, 'SUCCEEDED')
  assert.equal(await redeem(vm, token), false)
})

test('expired tokens and tokens of deleted VMs are removed from the store', async () => {
  const [vm, deleted] = [await running(), await running()]
  await app.clock.advance(expiry)
  await tokenOf(vm)
  await tokenOf(deleted)
  const owners = async () => (await app.store.find(ConsoleToken)).map(({ vmExtId }) => vmExtId).sort()
  assert.deepEqual(await owners(), [vm, deleted].sort())
  assert.equal((await changed(app, deleted, 'delete')).status, 'SUCCEEDED')
  assert.deepEqual(await owners(), [vm])
})

test('a VM that is OFF is refused with 409 and gets no task', async () => {
  const { extId } = await aVm(app, cluster)
  const { total } = await app.call('GET', tasks)
  assert.deepEqual(refused(await generate(extId)), [409, 'VMM-30100'])
  assert.equal((await app.call('GET', tasks)).total, total)
})

test('a VM that stops before its token is issued fails the task without a token', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const own = await startApp({
    config: { seed: 'empty' },
    beforeStep: (definition) => (definition === 'vmm.generate-console-token' ? gate : undefined),
  })
  const of = await aNativeCluster(own)
  const { extId } = await aVm(own, of, { disks: [bootDisk(of)] })
  assert.equal((await changed(own, extId, 'power-on')).status, 'SUCCEEDED')
  const started = await own.call('POST', `${vms}/${extId}/$actions/generate-console-token`)
  assert.equal((await changed(own, extId, 'power-off')).status, 'SUCCEEDED')
  open()
  const task = await own.task(started)
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'VMM-30100'])
  assert.deepEqual(await own.store.find(ConsoleToken), [])
  await own.close()
})

test('an unknown VM is 404, and a caller without the right gets 403 without a task', async () => {
  assert.deepEqual(refused(await generate(randomUUID())), [404, 'VMM-20005'])
  const vm = await running()
  const { total } = await app.call('GET', tasks)
  const viewer = await aUser(app, ['Virtual Machine Viewer'])
  assert.equal((await generate(vm, { as: viewer })).status, 403)
  assert.equal((await app.call('GET', tasks)).total, total)
})

test('a repeated request id returns the first task and issues one token', async () => {
  const vm = await running()
  const requestId = randomUUID()
  const first = await generate(vm, { requestId })
  const again = await generate(vm, { requestId })
  assert.deepEqual([again.replayed, again.data.extId], [true, first.data.extId])
  assert.equal((await app.store.findWhere(ConsoleToken, { vmExtId: vm })).length, 1)
})

test('the journal keeps the answer with the token masked, in both naming profiles', async () => {
  const vm = await running()
  const { extId } = (await generate(vm)).data
  await app.runner.untilEnded(extId)
  const publicId = encodeURIComponent(`ZXJnb24=:${extId}`)
  for (const path of [`/api${tasks}/${extId}`, `/api/prism/v4.3/config/tasks/${publicId}`, `/api${tasks}?$limit=1`]) {
    const answer = await http(url, path)
    assert.match(answer.text, /"VmConsoleToken"/, path)
    const [{ text }] = [JSON.parse(answer.text).data].flat()[0].completionDetails.map(({ value }: any) => ({
      text: value as string,
    }))
    const [call] = (await callsOf(app, `contains(path,'${path.includes('limit') ? 'tasks' : extId}')`)).slice(-1)
    assert.match(call.answer.text, /\[secret\]/, path)
    assert.ok(!JSON.stringify(call).includes(text), path)
  }
})

test('no file of the data folder contains a token', async () => {
  const vm = await running()
  const token = await tokenOf(vm)
  await http(url, `/api${tasks}?$limit=1`)
  await callsOf(app)
  const files = readdirSync(app.folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const holding = (text: string): string[] =>
    files.filter(({ parentPath, name }) => readFileSync(join(parentPath, name)).includes(text)).map(({ name }) => name)
  assert.notDeepEqual(holding(vm), [])
  assert.deepEqual(holding(token.split('.')[1] as string), [])
  assert.equal((await app.store.get(Vm, vm))?.powerState, 'ON')
})

test('an exported world has no token, and its copy shows the task without completion details', async () => {
  const vm = await running()
  const { extId } = (await generate(vm)).data
  const token = (await app.task(extId)).completionDetails[0].value as string
  const text = await exported(app)
  assert.ok(text.includes(extId))
  for (const part of [...token.split('.'), 'ownerDetails']) assert.ok(!text.includes(part), part)
  assert.match(text, /console tokens/)
  const copy = await startApp({ config: { seed: { text } }, startAt: app.clock.now() })
  const { data } = await copy.call('GET', `${tasks}/${extId}`)
  assert.deepEqual([data.status, data.completionDetails], ['SUCCEEDED', undefined])
  assert.deepEqual(await copy.store.find(ConsoleToken), [])
  await copy.close()
})
