import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHyperplane } from '@hyperplane/server'

test('a VM whose host loses power is UNDETERMINED, refuses to be powered off, and then runs on another host', async () => {
  await using hyperplane = await startHyperplane({ seed: 'demo', clock: 'frozen' })
  const { client, control } = hyperplane
  const [vm] = (await client.vmm.listVms({ filter: "name eq 'web-01'" })).data
  const path = { extId: vm!.extId }
  const now = async () => (await client.vmm.getVmById({ path })).data
  const lost = vm!.host!.extId!

  const event = { type: 'HOST_FAILS', host: lost } as const
  await control.createWorldEvent({ body: { event, duration: 'PT10M' } })
  await control.advanceClock({ body: { duration: 'PT45S' } })
  assert.equal((await now()).powerState, 'UNDETERMINED')
  const { etag } = await client.vmm.getVmById({ path })
  await assert.rejects(client.vmm.powerOffVm({ path, ifMatch: etag! }), { status: 409 })

  await control.advanceClock({ body: { duration: 'PT45S' } })
  const restarted = await now()
  assert.equal(restarted.powerState, 'ON')
  assert.notEqual(restarted.host!.extId, lost)
  const tasks = (await client.platform.listTasks({ filter: "operation eq 'VmHaRestart'" })).data
  assert.ok(tasks.some(({ entitiesAffected }) => entitiesAffected![0]!.extId === vm!.extId))

  await control.advanceClock({ body: { duration: 'PT10M' } })
  assert.deepEqual((await now()).host, restarted.host)
})
