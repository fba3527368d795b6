/**
 * Measures work on many VMs in one process, without TLS: a batch that creates and starts 500, clones, the maintenance of
 * a host with 50, and a page of a long list.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { act, aNativeCluster, aVm, bootDisk, MiB, type NativeCluster, tagOf } from '../test/support/native-cluster.ts'
import { setMaintenance } from '../test/support/policies.ts'
import { startApp, type TestApp } from '../test/support/start-app.ts'

/** Milliseconds of wall time. */
export interface MachineTimes {
  /** 500 VMs. */
  readonly batch: number
  /** Median of one clone, with its task. */
  readonly clone: number
  /** 50 VMs leave a host. */
  readonly maintenance: number
  /** Median of a page of 50, with five terms in its filter. */
  readonly page: number
}

const vms = '/vmm/v4.2/ahv/config/vms'
const [inBatch, onHost, clones] = [500, 50, 51]

export async function measureMachines(listed: number): Promise<MachineTimes> {
  const app = await startApp({ durable: true, config: { seed: 'empty', clock: 'real' } })
  try {
    const cluster = await aNativeCluster(app, { hosts: 4, usableGiB: 4000, threads: 256 })
    const template = await aVm(app, cluster, { memorySizeBytes: 64 * MiB, disks: [bootDisk(cluster)] })
    const batch = await timed(() => createdAndStarted(app, cluster))
    const clone = await median(clones, async () => done(app, await act(app, template.extId, 'clone', { name: 'copy' })))
    const maintenance = await emptied(app)
    await insert(app, template, listed)
    return { batch, clone, maintenance, page: await median(51, () => page(app, cluster)) }
  } finally {
    await app.close()
  }
}

async function createdAndStarted(app: TestApp, cluster: NativeCluster): Promise<void> {
  const bodies = Array.from({ length: inBatch }, (_, index) => ({
    data: { name: `bench-${index}`, cluster: { extId: cluster.extId }, memorySizeBytes: 64 * MiB },
  }))
  await submit(app, 'CREATE', `/api${vms}`, bodies)
  const created = await app.store.find(Vm, { newestFirst: true, limit: inBatch })
  const starts = await Promise.all(
    created.map(async ({ extId }) => ({
      metadata: {
        path: [{ name: 'extId', value: extId }],
        headers: [
          { name: 'If-Match', value: await tagOf(app, extId) },
          { name: 'SVC-Request-Id', value: randomUUID() },
        ],
      },
    })),
  )
  await submit(app, 'ACTION', `/api${vms}/{extId}/$actions/power-on`, starts)
  assert.equal((await app.store.findWhere(Vm, { powerState: 'ON' })).length, inBatch)
}

async function submit(app: TestApp, action: string, uri: string, payload: readonly object[]): Promise<void> {
  const body = { metadata: { action, name: 'bench', uri, chunkSize: inBatch }, payload }
  await done(app, await app.call('POST', '/platform/v4.3/operations/$actions/batch', { body, requestId: randomUUID() }))
}

/** Maintenance of a host of a cluster of its own, with all VMs on it. */
async function emptied(app: TestApp): Promise<number> {
  const cluster = await aNativeCluster(app, { hosts: 4, usableGiB: 4000, threads: 256 })
  const [host, ...others] = cluster.hostExtIds as [string, ...string[]]
  await setMaintenance(app, others, 'in_maintenance')
  for (let index = 0; index < onHost; index++) {
    const { extId } = await aVm(app, cluster, { memorySizeBytes: 64 * MiB, disks: [bootDisk(cluster)] })
    await done(app, await act(app, extId, 'power-on', {}))
  }
  await setMaintenance(app, others, 'normal')
  const path = `/clustermgmt/v4.2/operations/clusters/${cluster.extId}/hosts/${host}/$actions/enter-host-maintenance`
  return timed(async () => done(app, await app.call('POST', path, { body: {}, requestId: randomUUID() })))
}

async function insert(app: TestApp, template: any, count: number): Promise<void> {
  for (let from = 0; from < count; from += 1000) {
    await app.store.transaction(async (store) => {
      for (let index = from; index < from + 1000; index++) {
        const extId = randomUUID()
        const name = `listed-${index}`
        await store.insert(Vm, {
          ...template,
          extId,
          biosUuid: extId,
          name,
          disks: [],
          memorySizeBytes: (64 + (index % 64)) * MiB,
        })
      }
    })
  }
}

async function page(app: TestApp, cluster: NativeCluster): Promise<void> {
  const terms = [
    "startswith(name,'listed-')",
    `cluster/extId eq '${cluster.extId}'`,
    "powerState eq Vmm.Ahv.Config.PowerState'OFF'",
    `memorySizeBytes gt ${80 * MiB}`,
    'numSockets eq 1',
  ]
  const query = `$filter=${encodeURIComponent(terms.join(' and '))}&$orderby=name&$limit=50`
  const { status, data } = await app.call('GET', `${vms}?${query}`)
  assert.deepEqual([status, data?.length], [200, 50])
}

async function done(app: TestApp, started: Awaited<ReturnType<TestApp['call']>>): Promise<void> {
  const task = await app.task(started)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

async function median(times: number, work: () => Promise<unknown>): Promise<number> {
  const found: number[] = []
  for (let turn = 0; turn < times; turn++) found.push(await timed(work))
  return found.sort((a, b) => a - b)[times >> 1] as number
}
