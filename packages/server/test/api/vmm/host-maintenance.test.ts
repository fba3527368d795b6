/** Maintenance of a host, as its VMs see it. Source: behaviour vmm.md 3.2 (Maintenance), 5 (22); clustermgmt.md 1.4. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, test } from 'node:test'
import { Task } from '@hyperplane/contract/platform/task'
import { pathOf } from '../../../src/core/standard.ts'
import { unfinished } from '../../../src/core/tasks/runner.ts'
import { powerHistory } from '../../../src/domains/virtual-machines/power-journal.ts'
import type { PassthroughGpu } from '../../../src/drivers/hardware.ts'
import { domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { anyOf } from '../../../src/odata/index.ts'
import { bodyOf, install } from '../../kinds/vmm/gpu.ts'
import { happen } from '../../support/events.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aNativeCluster, aVm, change, changed, GiB, type NativeCluster, readVm } from '../../support/native-cluster.ts'
import {
  aCategory,
  aRunningVm,
  categorise,
  hostAffinityPolicies,
  hostPolicyBody,
  made,
} from '../../support/policies.ts'
import { beginning, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
beforeEach(async () => {
  app = await startApp({ config: { seed: 'empty', durations: 'natural' } })
})
afterEach(async () => {
  try {
    // Before the first round of the balancer, which would move VMs too.
    assert.ok(app.clock.now() < beginning + 15 * 60_000)
    await driven(checkInvariants(app))
  } finally {
    await app.close()
  }
})

const isBusy = async (): Promise<boolean> =>
  (await app.store.find(Task, { filter: anyOf(pathOf(Task, 'status'), unfinished), limit: 1 })).length > 0

/** While tasks run, moves the time from event to event until the work is done; `look` sees the world after each event. */
async function driven<T>(work: Promise<T>, look?: () => Promise<void>): Promise<T> {
  let isOver = false
  const waited = work.finally(() => (isOver = true))
  while (!isOver) {
    await new Promise(setImmediate)
    if (!(await isBusy())) continue
    await app.clock.runToNextEvent()
    await look?.()
  }
  return waited
}

const ask = (what: 'enter' | 'exit', { extId }: NativeCluster, host: string, body: object = {}): Promise<CallResult> =>
  app.call('POST', `/clustermgmt/v4.2/operations/clusters/${extId}/hosts/${host}/$actions/${what}-host-maintenance`, {
    body,
    requestId: randomUUID(),
  })
const mayShutDownVms = { shouldShutdownNonMigratableUvms: true }
/** The ended task, which succeeded. */
async function done(started: CallResult | Promise<CallResult>, look?: () => Promise<void>): Promise<any> {
  const task = await driven(app.task(await started), look)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task
}
const running = (cluster: NativeCluster, host: string, body: object = {}): Promise<any> =>
  driven(aRunningVm(app, cluster, { ...body, host }))

/** What a client sees of the VMs of a cluster, by name: the state, and the host if there is one. */
type Seen = Readonly<Record<string, string>>
async function seenIn({ extId, hostExtIds }: NativeCluster): Promise<Seen> {
  const { data } = await app.call('GET', `/vmm/v4.2/ahv/config/vms?$filter=cluster/extId eq '${extId}'&$limit=100`)
  const placed = (host?: { extId: string }): string => (host === undefined ? '' : ` ${hostExtIds.indexOf(host.extId)}`)
  return Object.fromEntries(data.map(({ name, powerState, host }: any) => [name, `${powerState}${placed(host)}`]))
}
/** Each different view of the cluster, in order. */
function watch(cluster: NativeCluster): { seen: Seen[]; look: () => Promise<void> } {
  const seen: Seen[] = []
  const look = async (): Promise<void> => {
    const now = await seenIn(cluster)
    if (JSON.stringify(now) !== JSON.stringify(seen.at(-1))) seen.push(now)
  }
  return { seen, look }
}

interface Subtask {
  readonly name: string
  readonly from: number
  readonly to: number
}
/** The subtasks of a maintenance with this operation, in the order of their start. */
async function subtasks(task: any, operation: string): Promise<Subtask[]> {
  const { data } = await app.call('GET', `/platform/v4.3/config/tasks?$filter=operation eq '${operation}'&$limit=100`)
  return data
    .filter(({ parentTask }: any) => parentTask?.extId === task.extId)
    .map(({ entitiesAffected, startedTime, completedTime }: any) => ({
      name: entitiesAffected[0].name,
      from: Date.parse(startedTime),
      to: Date.parse(completedTime),
    }))
    .sort((a: Subtask, b: Subtask) => a.from - b.from || a.to - b.to)
}
const namesOf = (tasks: readonly Subtask[]): string[] => tasks.map(({ name }) => name)
const first = (tasks: readonly Subtask[]): number => Math.min(...tasks.map(({ from }) => from))
const last = (tasks: readonly Subtask[]): number => Math.max(...tasks.map(({ to }) => to))

const movable = ['small', 'medium', 'large']
const bound = ['affine', 'gpu', 'pinned']

/** Three hosts; the first has VMs that can migrate, VMs that cannot for different reasons, and an agent VM. */
async function aBusyHost(): Promise<{ cluster: NativeCluster; host: string; ids: Readonly<Record<string, string>> }> {
  const cluster = await aNativeCluster(app, { hosts: 3 })
  const [host = ''] = cluster.hostExtIds
  const [gpu] = await install(app, cluster.extId, host, ['Compute GPU 24 GiB'])
  const [own, rack] = [await aCategory(app), await aCategory(app)]
  await categorise(app, [host], rack)
  await driven(made(app, hostAffinityPolicies, hostPolicyBody([own], [rack])))
  const ids: Record<string, string> = {}
  for (const [name, body] of Object.entries({
    large: { memorySizeBytes: 16 * GiB },
    small: {},
    medium: { memorySizeBytes: 4 * GiB },
    affine: { categories: [own] },
    gpu: { gpus: [bodyOf(gpu as PassthroughGpu)] },
    pinned: { isVcpuHardPinningEnabled: true },
    agent: { isAgentVm: true },
  }))
    ids[name] = (await running(cluster, host, { name, ...body })).extId
  await app.clock.advance(60_000)
  return { cluster, host, ids }
}

test('VMs that can migrate stay ON elsewhere while their host is in maintenance; the others, the agent last, are OFF', async () => {
  const { cluster, host, ids } = await aBusyHost()
  assert.deepEqual(new Set(Object.values(await seenIn(cluster))), new Set(['ON 0']))
  for (const name of movable) assert.equal((await readVm(app, ids[name] as string)).isLiveMigrateCapable, true)
  const startedAt = (name: string): number | undefined => domainFacts(app.world).get(ids[name] as string)?.startedAt
  const starts = movable.map(startedAt)

  const { seen, look } = watch(cluster)
  const entered = await done(ask('enter', cluster, host, mayShutDownVms), look)
  const inside = await seenIn(cluster)
  for (const name of movable) assert.match(inside[name] as string, /^ON [12]$/)
  for (const name of [...bound, 'agent']) assert.equal(inside[name], 'OFF', name)

  const moves = await subtasks(entered, 'VmLiveMigrate')
  assert.deepEqual(namesOf(moves), movable, 'the smallest memory leaves first')
  const [, second, third] = moves as [Subtask, Subtask, Subtask]
  assert.ok(second.from < (moves[0] as Subtask).to, 'two leave at a time')
  assert.ok(third.from >= Math.min((moves[0] as Subtask).to, second.to), 'and no more than two')
  const stops = await subtasks(entered, 'ShutdownVm')
  const agent = await subtasks(entered, 'PowerOffVm')
  assert.deepEqual([namesOf(stops).sort(), namesOf(agent)], [bound, ['agent']])
  assert.ok(first(stops) >= last(moves) && first(agent) >= last(stops))

  const left = await done(ask('exit', cluster, host), look)
  assert.equal(left.warnings, undefined)
  const { pinned, ...others } = await seenIn(cluster)
  assert.deepEqual(new Set(Object.values(others)), new Set(['ON 0']))
  assert.match(pinned as string, /^ON [012]$/, 'its CPUs may be those of another host')
  const starting = await subtasks(left, 'PowerOnVm')
  const returns = await subtasks(left, 'MigrateVmToHost')
  assert.deepEqual(
    [namesOf(starting).sort(), namesOf(returns).sort()],
    [['agent', ...bound].sort(), [...movable].sort()],
  )
  const agents = starting.filter(({ name }) => name === 'agent')
  const remembered = starting.filter(({ name }) => name !== 'agent')
  assert.ok(first(returns) >= last(agents) && first(remembered) >= last(returns), 'agents, moved VMs, then the others')
  const isBack = (view: Seen): boolean => movable.some((name) => view[name] === 'ON 0')
  const exiting = seen.slice(seen.findIndex((view) => view['agent'] === 'OFF'))
  assert.equal(exiting.find(isBack)?.['agent'], 'ON 0')

  for (const view of seen) for (const name of movable) assert.match(view[name] as string, /^ON /)
  assert.deepEqual(movable.map(startedAt), starts, 'no guest started again')
  for (const name of movable) {
    const changes = (await powerHistory(app.store, ids[name] as string)).map(({ change }) => change)
    assert.deepEqual(changes, ['ON', 'MOVED', 'MOVED'])
  }
})

test('a host with VMs that cannot migrate stays in operation, and the task names each of them with its reason', async () => {
  const { cluster, host } = await aBusyHost()
  const { seen, look } = watch(cluster)
  await look()
  const refused = await driven(app.task(await ask('enter', cluster, host)), look)
  assert.equal(refused.status, 'FAILED')
  for (const reason of [
    '"gpu" (it has a GPU or PCIe device of the host)',
    '"pinned" (it is bound to the CPUs of the host)',
    '"affine" (the host affinity policy ',
  ])
    assert.ok(refused.errorMessages[0].message.includes(reason), `${reason}: ${refused.errorMessages[0].message}`)
  assert.doesNotMatch(refused.errorMessages[0].message, /"agent"/)
  assert.deepEqual(seen.length, 1, 'no VM moved or stopped')
  const late = await driven(aVm(app, cluster, { isAgentVm: true, host: { extId: host } }))
  await done(change(app, late.extId, 'power-on'))
  assert.equal((await readVm(app, late.extId)).host.extId, host, 'the host takes VMs again')
})

/** Powers a VM on: its host as an index, or the code and text of the failure. */
async function poweredOn({ hostExtIds }: NativeCluster, extId: string): Promise<unknown[]> {
  const { status, errorMessages } = await driven(changed(app, extId, 'power-on'))
  if (status === 'SUCCEEDED') return [hostExtIds.indexOf((await readVm(app, extId)).host.extId)]
  return [status, errorMessages[0].code, /maintenance: the host is \w+/.exec(errorMessages[0].message)?.[0]]
}

test('from the start of its maintenance a host accepts no VM, and a VM that is bound to it cannot start', async () => {
  const cluster = await aNativeCluster(app)
  const [host = '', other = ''] = cluster.hostExtIds
  await running(cluster, other, { memorySizeBytes: 20 * GiB })
  const agent = await driven(aVm(app, cluster, { isAgentVm: true, host: { extId: host } }))
  const vms = []
  for (const name of ['first', 'second', 'third']) vms.push((await driven(aVm(app, cluster, { name }))).extId)
  const [early, late, after] = vms as [string, string, string]
  await running(cluster, host, { memorySizeBytes: 16 * GiB })

  const entering = await ask('enter', cluster, host)
  await app.clock.settled()
  // The host has more free memory than the other one.
  assert.deepEqual(await poweredOn(cluster, early), [1])
  assert.deepEqual(await poweredOn(cluster, agent.extId), [
    'FAILED',
    'VMM-40001',
    'maintenance: the host is entering_maintenance',
  ])
  await done(entering)
  assert.deepEqual(await poweredOn(cluster, late), [1])
  assert.deepEqual(await poweredOn(cluster, agent.extId), [
    'FAILED',
    'VMM-40001',
    'maintenance: the host is in_maintenance',
  ])
  await done(ask('exit', cluster, host))
  assert.deepEqual(await poweredOn(cluster, after), [0])
  assert.deepEqual(await poweredOn(cluster, agent.extId), [0])
})

test('a VM with a running task leaves its host after that task', async () => {
  const cluster = await aNativeCluster(app)
  const [host = ''] = cluster.hostExtIds
  const vm = await running(cluster, host, { name: 'busy' })
  await app.clock.advance(60_000)
  await happen(app, { type: 'GUEST_HANGS', vm: vm.extId })
  const shutdown = await change(app, vm.extId, 'shutdown')
  const entering = await ask('enter', cluster, host)
  const [ignored, entered] = await driven(Promise.all([app.task(shutdown), app.task(entering)]))
  assert.deepEqual([ignored.status, entered.status], ['FAILED', 'SUCCEEDED'], JSON.stringify(entered.errorMessages))
  const [move] = await subtasks(entered, 'VmLiveMigrate')
  assert.ok((move as Subtask).from >= Date.parse(ignored.completedTime))
  assert.deepEqual(await seenIn(cluster), { busy: 'ON 1' })
  await done(ask('exit', cluster, host))
  assert.deepEqual(await seenIn(cluster), { busy: 'ON 0' })
})

test('a VM that cannot migrate and ignores the request to shut down is powered off after 60 s', async () => {
  const cluster = await aNativeCluster(app)
  const [host = ''] = cluster.hostExtIds
  const vm = await running(cluster, host, { name: 'hung', isVcpuHardPinningEnabled: true })
  await app.clock.advance(60_000)
  await happen(app, { type: 'GUEST_HANGS', vm: vm.extId })
  const [stop] = await subtasks(await done(ask('enter', cluster, host, mayShutDownVms)), 'ShutdownVm')
  const { from, to } = stop as Subtask
  assert.ok(to - from >= 60_000 && to - from < 65_000, String(to - from))
  assert.deepEqual(await seenIn(cluster), { hung: 'OFF' })
  await done(ask('exit', cluster, host))
  assert.match((await seenIn(cluster))['hung'] as string, /^ON /)
})

test('after the maintenance, VMs return if they still run and fit; VMs that were started or deleted during it are left alone', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3, usableGiB: 10 })
  const [host = ''] = cluster.hostExtIds
  const ids: Record<string, string> = {}
  for (const [name, body] of Object.entries({
    pinned: { isVcpuHardPinningEnabled: true, memorySizeBytes: GiB / 2 },
    deleted: { memorySizeBytes: GiB / 4 },
    stopped: { memorySizeBytes: GiB / 4 },
    grown: { memorySizeBytes: 3 * GiB },
    large: { memorySizeBytes: 5 * GiB },
  }))
    ids[name] = (await running(cluster, host, { name, ...body })).extId
  await done(ask('enter', cluster, host, mayShutDownVms))
  const { data: vm } = await app.call('GET', `/vmm/v4.2/ahv/config/vms/${ids['grown']}`)
  await done(change(app, ids['deleted'] as string, 'delete'))
  await done(change(app, ids['stopped'] as string, 'power-off'))
  await done(change(app, ids['pinned'] as string, 'power-on'))
  await done(change(app, ids['grown'] as string, { put: { ...vm, memorySizeBytes: 6 * GiB } }))
  const inside = await seenIn(cluster)

  const left = await done(ask('exit', cluster, host))
  assert.equal(left.warnings.length, 1)
  assert.match(left.warnings[0].message, /^The VM "large" stays on its present host: .*memory: /)
  const { grown, ...others } = await seenIn(cluster)
  assert.equal(grown, 'ON 0')
  assert.deepEqual(others, { large: inside['large'], pinned: inside['pinned'], stopped: 'OFF' })
})
