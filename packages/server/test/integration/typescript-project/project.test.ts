/** A test of a project that has installed the packages; `installed-package.test.ts` compiles and runs it there. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiRefusal, type Client, createClient } from '@hyperplane/client'
import type { AnswerOf, BodyOf } from '@hyperplane/contract'
import type { Category } from '@hyperplane/contract/platform/category'
import type { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { type Hyperplane, type HyperplaneOptions, StartRefusal, startHyperplane } from '@hyperplane/server'

async function makeVm(client: Client, name: string, description: string | undefined): Promise<AnswerOf<typeof Vm>> {
  const filter = "config/clusterFunction/any(t:t eq Clustermgmt.Config.ClusterFunctionRef'AOS')"
  const [cluster] = (await client.clustermgmt.listClusters({ filter })).data
  assert.ok(cluster !== undefined)
  const categoryBody: BodyOf<typeof Category> = { key: 'owner', value: name, description }
  const { data: category } = await client.platform.createCategory({ body: categoryBody })
  const started = await client.vmm.createVm({
    body: {
      name,
      description,
      numSockets: 2,
      memorySizeBytes: 2 ** 30,
      cluster: { extId: cluster.extId },
      categories: [{ extId: category.extId }],
    },
  })
  const task = await client.completed(started)
  assert.equal(task.status, 'SUCCEEDED')
  const [vm] = (await client.vmm.listVms({ filter: `name eq '${name}'` })).data
  assert.ok(vm !== undefined)
  return vm
}

test('makes a category and a VM, switches it on, and moves the clock', async () => {
  const adminPassword: string | undefined = process.env['ADMIN_PASSWORD']
  const options: HyperplaneOptions = { seed: 'tiny', clock: 'frozen', adminPassword }
  await using hyperplane: Hyperplane = await startHyperplane(options)
  const { client, control } = hyperplane

  const vm = await makeVm(client, 'web', undefined)
  const path = { extId: vm.extId }
  const { etag } = await client.vmm.getVmById({ path })
  await client.completed(await client.vmm.powerOnVm({ path, ifMatch: etag }))
  const power: 'ON' | 'OFF' | 'PAUSED' | 'UNDETERMINED' | undefined = (await client.vmm.getVmById({ path })).data
    .powerState
  assert.equal(power, 'ON')

  const { data: before } = await control.getClock()
  await control.advanceClock({ body: { duration: 'P1D' } })
  const { data: after } = await control.getClock({ path: { worldName: 'default' } })
  assert.equal(Date.parse(after.time) - Date.parse(before.time), 86_400_000)
  assert.ok((await control.listCalls()).data.length > 0)
})

test('a client that the project creates uses the global fetch, and refusals are errors with a status', async () => {
  await using hyperplane = await startHyperplane({ seed: 'empty' })
  const own = createClient({ url: hyperplane.url, username: 'admin', password: hyperplane.adminPassword, fetch })
  const path = { extId: 'e8a1a7a4-43a7-4b19-9a0c-0f3e5c5f5d11' }
  await assert.rejects(
    own.platform.getCategoryById({ path }),
    (error) => error instanceof ApiRefusal && error.status === 404,
  )
  await assert.rejects(startHyperplane({ startTime: 'tomorrow' }), StartRefusal)
})

/** Never called: each line that follows a directive must not compile. */
export async function refusedByTheCompiler(client: Client): Promise<void> {
  // @ts-expect-error a value of another type
  await client.platform.createCategory({ body: { key: 3, value: 'a' } })
  // @ts-expect-error a field that the kind does not have
  await client.platform.createCategory({ body: { key: 'a', value: 'a', colour: 'red' } })
  // @ts-expect-error a required field is missing
  await client.platform.createCategory({ body: { key: 'a' } })
  // @ts-expect-error the body is missing
  await client.platform.createCategory()
  // @ts-expect-error another path parameter
  await client.vmm.getVmById({ path: { vmExtId: 'a' } })
  // @ts-expect-error an asynchronous call answers the task, not the VM
  ;(await client.vmm.createVm({ body: { name: 'a' } })).data.numSockets
  // @ts-expect-error an operation that does not exist
  await client.vmm.createVms()
}
