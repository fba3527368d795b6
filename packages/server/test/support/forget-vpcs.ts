/** Deletes the VPCs of the demo, with all that is in them or speaks for them. */
import assert from 'node:assert/strict'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { deleteEntity } from './field-bases.ts'
import type { TestApp } from './start-app.ts'
import { vpcs } from './vpcs.ts'
import { removeDemoConnection } from './vpn.ts'

const config = '/networking/v4.3/config'

export async function forgetVpcs(app: TestApp): Promise<void> {
  const overlays = (await app.store.find(Subnet)).filter(({ vpcReference }) => vpcReference !== undefined)
  for (const { extId } of overlays)
    for (const vm of await app.store.find(Vm, { refersTo: { kind: 'Subnet', extId } }))
      await deleteEntity(app, `/vmm/v4.2/ahv/config/vms/${vm.extId}`)
  const all = async (kind: string): Promise<void> => {
    for (const { extId } of (await app.call('GET', `${config}/${kind}`)).data)
      await deleteEntity(app, `${config}/${kind}/${extId}`)
  }
  for (const kind of ['floating-ips', 'load-balancer-sessions', 'bgp-sessions', 'layer2-stretches']) await all(kind)
  await removeDemoConnection(app)
  await all('gateways')
  let left = [...overlays.map(({ extId }) => `${config}/subnets/${extId}`)]
  for (const { extId } of (await app.call('GET', vpcs)).data) left.push(`${vpcs}/${extId}`)
  // A VPC waits for its subnets, an external overlay subnet for the VPCs behind it.
  for (let round = 0; left.length > 0; round++) {
    assert.ok(round < 4, `in use: ${left.join()}`)
    const refused: string[] = []
    for (const path of left) {
      const answer = await app.call('DELETE', path)
      if (answer.status === 409) refused.push(path)
      else assert.equal((await app.task(answer)).status, 'SUCCEEDED')
    }
    left = refused
  }
}
