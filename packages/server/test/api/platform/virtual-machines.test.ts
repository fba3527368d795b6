/** Categories and batches with real virtual machines and volume groups. Source: behaviour platform.md 1, 14 (4, 12). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { ids } from '../../support/clustermgmt.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aVm, change, changed, GiB, type NativeCluster, readVm } from '../../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

const categories = '/platform/v4.3/config/categories'
const tasks = '/platform/v4.3/config/tasks'
const groups = '/volumes/v4.2/config/volume-groups'
const cluster = { extId: ids.native } as NativeCluster

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const aCategory = async (value: string): Promise<string> =>
  (await app.call('POST', categories, { body: { key: 'Carried', value } })).data.extId
/** `VM 1, VOLUMEGROUP 1`. */
async function counts(extId: string, of = app): Promise<string> {
  const { associations = [] } = (await of.call('GET', `${categories}/${extId}?$expand=associations`)).data
  return associations
    .map(({ resourceType, count }: any) => `${resourceType} ${count}`)
    .sort()
    .join(', ')
}

test('a VM and a volume group that carry a category are both counted; the count of the VM is gone when its deletion has ended', async () => {
  const category = await aCategory('both')
  const vm = await aVm(app, cluster, { name: 'carrier', categories: [{ extId: category }] })
  const body = { name: 'carrier', clusterReference: ids.native }
  const made = await app.task(await app.call('POST', groups, { body, requestId: randomUUID() }))
  const group = `${groups}/${made.entitiesAffected[0].extId}`
  assert.equal(await counts(category), 'VM 1')
  const carried = await app.call('POST', `${group}/$actions/associate-category`, {
    body: { categories: [{ entityType: 'CATEGORY', extId: category }] },
    requestId: randomUUID(),
  })
  assert.equal((await app.task(carried)).status, 'SUCCEEDED')
  assert.equal(await counts(category), 'VM 1, VOLUMEGROUP 1')
  const details = (await app.call('GET', `${categories}/${category}?$expand=detailedAssociations`)).data
  assert.deepEqual(
    details.detailedAssociations.map(({ resourceId }: any) => resourceId).sort(),
    [vm.extId, group.slice(-36)].sort(),
  )
  const refused = await app.call('DELETE', `${categories}/${category}`)
  assert.equal(refused.status, 409)
  assert.equal((await changed(app, vm.extId, 'delete')).status, 'SUCCEEDED')
  assert.equal(await counts(category), 'VOLUMEGROUP 1')
})

test('while the deletion of a VM is under way its category is counted still', async () => {
  const reached = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const gated = await startApp({
    beforeStep: async (definition) => {
      if (definition !== 'vmm.delete-vm') return
      reached.resolve()
      await goOn.promise
    },
  })
  try {
    const [{ extId }] = (await gated.call('GET', `${categories}?$filter=key eq 'CostCenter'`)).data
    const vm = await aVm(gated, cluster, { name: 'going', categories: [{ extId }] })
    assert.equal(await counts(extId, gated), 'VM 1')
    const started = await change(gated, vm.extId, 'delete')
    await reached.promise
    assert.equal(await counts(extId, gated), 'VM 1')
    goOn.resolve()
    assert.equal((await gated.task(started)).status, 'SUCCEEDED')
    assert.equal(await counts(extId, gated), '')
  } finally {
    goOn.resolve()
    await gated.close()
  }
})

const submit = (uri: string, payload: readonly object[]): Promise<CallResult> =>
  app.call('POST', '/platform/v4.3/operations/$actions/batch', {
    requestId: randomUUID(),
    body: { metadata: { action: 'CREATE', name: 'many', uri, chunkSize: 5 }, payload },
  })
const jobsOf = async (task: any): Promise<any[]> =>
  (await app.call('GET', `${tasks}/${task.extId}/jobs?$limit=100`)).data
const partsOf = async (task: any): Promise<any[]> =>
  (await app.call('GET', `${tasks}?$limit=100&$filter=${encodeURIComponent(`parentTask eq '${task.extId}'`)}`)).data

test('a batch creates 20 categories and one creates 20 VMs: jobs in order, sub-tasks for the VMs only, counts right, BATCH-CREATE', async () => {
  const pairs = Array.from({ length: 20 }, (_, index) => ({ data: { key: 'Batched', value: `v${index}` } }))
  const vms = Array.from({ length: 20 }, (_, index) => ({
    data: {
      name: `batched-${index}`,
      memorySizeBytes: GiB,
      cluster: { extId: ids.native },
      disks: [{ backingInfo: { $objectType: 'vmm.v4.ahv.config.VmDisk', diskSizeBytes: GiB } }],
    },
  }))
  for (const [uri, payload, parts] of [
    ['/api/platform/v4.3/config/categories', pairs, 0],
    ['/api/vmm/v4.2/ahv/config/vms', vms, 20],
  ] as const) {
    const task = await app.task(await submit(uri, payload))
    assert.deepEqual([task.status, task.operation], ['SUCCEEDED', 'BATCH-CREATE'], JSON.stringify(task.errorMessages))
    assert.deepEqual(task.batchSummary, { numberOfJobs: 20, numberOfJobsSuccessful: 20, numberOfJobsFailed: 0 })
    assert.equal(task.numberOfSubtasks, parts)
    const jobs = await jobsOf(task)
    assert.deepEqual(
      jobs.map(({ name, status }) => `${name} ${status}`),
      payload.map((_, index) => `${index} SUCCEEDED`),
    )
    const detail = (job: any, name: string): unknown =>
      job.completionDetails.find((one: any) => one.name === name)?.value
    const subTasks = await partsOf(task)
    assert.deepEqual(
      subTasks.map(({ extId }) => extId).sort(),
      jobs.flatMap((job) => detail(job, 'taskExtId') ?? []).sort(),
    )
    assert.ok(subTasks.every(({ status, operation }) => status === 'SUCCEEDED' && operation === 'CreateVm'))
    const batch = (await app.call('GET', `/platform/v4.3/operations/batches/${task.extId}`)).data
    assert.deepEqual([batch.size, batch.successCount, batch.failedCount], [20, 20, 0])
    if (parts === 0) continue
    for (const [index, job] of jobs.entries()) {
      const vm = await readVm(app, job.entitiesAffected[0].extId)
      assert.equal(vm.name, `batched-${index}`)
    }
  }
  await checkInvariants(app)
})
