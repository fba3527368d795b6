import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Client, startHyperplane, TaskFailure } from '@hyperplane/server'

/** Code under test: a creation that is tried up to three times. */
async function createPatiently({ vmm, completed }: Client, name: string, cluster: string): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    try {
      await completed(await vmm.createVm({ body: { name, memorySizeBytes: 2 ** 30, cluster: { extId: cluster } } }))
      return attempt
    } catch (error) {
      if (!(error instanceof TaskFailure) || attempt === 3) throw error
    }
  }
}

test('a VM is created once although the first task fails', async () => {
  await using hyperplane = await startHyperplane({ seed: 'tiny' })
  const { client, control } = hyperplane
  const [cluster] = (await client.clustermgmt.listClusters({ filter: "name eq 'tiny'" })).data

  await control.createFaultRule({
    body: {
      match: { namePattern: 'web-*', taskStep: { task: 'vmm.create-vm', step: 'define' } },
      trigger: { next: 1 },
      effect: { error: 'BACKEND_TIMEOUT', arguments: { fault: 'The hypervisor did not answer.' } },
    },
  })

  assert.equal(await createPatiently(client, 'web-1', cluster!.extId), 2)
  assert.equal((await client.vmm.listVms({ filter: "name eq 'web-1'" })).total, 1)

  const { data: failed } = await client.platform.listTasks({ filter: "status eq Platform.Config.TaskStatus'FAILED'" })
  assert.match(failed[0]!.errorMessages![0]!.message!, /The hypervisor did not answer/)
})
