import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHyperplane } from '@hyperplane/server'

test('a VM whose host loses its power is unknown, takes no order, and comes back with the host', async () => {
  await using hyperplane = await startHyperplane({ seed: 'tiny', clock: 'frozen' })
  const { client, control } = hyperplane
  const [host] = (await client.clustermgmt.listHosts()).data
  const [vm] = (await client.vmm.listVms({ filter: "name eq 'vm-1'" })).data
  const path = { extId: vm!.extId }
  const powerState = async () => (await client.vmm.getVmById({ path })).data.powerState
  assert.equal(await powerState(), 'ON')

  const event = { type: 'HOST_FAILS', host: host!.hostName! } as const
  await control.createWorldEvent({ body: { event, duration: 'PT50S' } })
  await control.advanceClock({ body: { duration: 'PT45S' } })
  assert.equal(await powerState(), 'UNDETERMINED')
  const { etag } = await client.vmm.getVmById({ path })
  await assert.rejects(client.vmm.powerOffVm({ path, ifMatch: etag! }), { status: 409 })

  await control.advanceClock({ body: { duration: 'PT45S' } })
  assert.equal(await powerState(), 'ON')
})
