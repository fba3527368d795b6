/** Removes the VPCs of the demo from the store, because its gateways cannot be deleted over the interface. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { BgpSession } from '@hyperplane/contract/networking/bgp-session'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { LoadBalancerSession } from '@hyperplane/contract/networking/load-balancer-session'
import { RouteTable } from '@hyperplane/contract/networking/route-table'
import { RoutingPolicy } from '@hyperplane/contract/networking/routing-policy'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { releaseHolder, releaseSubnet } from '../../src/domains/addressing/leases.ts'
import { balancerFacts } from '../../src/drivers/simulated/balancers.ts'
import { fabricFacts } from '../../src/drivers/simulated/network-fabric.ts'
import { policyFacts } from '../../src/drivers/simulated/routing-policies.ts'
import { routingFacts } from '../../src/drivers/simulated/virtual-routing.ts'
import type { TestApp } from './start-app.ts'

export async function forgetVpcs(app: TestApp): Promise<void> {
  const overlays = (await app.store.find(Subnet)).filter(({ vpcReference }) => vpcReference !== undefined)
  for (const { extId } of overlays) {
    for (const vm of await app.store.find(Vm, { refersTo: { kind: 'Subnet', extId } })) await deleteVm(app, vm.extId)
  }
  await app.store.transaction(async (store) => {
    for (const kind of [LoadBalancerSession, BgpSession, Gateway, RouteTable, RoutingPolicy, Vpc]) {
      for (const { extId } of await store.find(kind)) {
        await releaseHolder(store, extId as string)
        await store.remove(kind, extId as string)
      }
    }
    for (const { extId } of overlays) {
      await releaseSubnet(store, extId)
      await store.remove(Subnet, extId)
    }
  })
  const { subnets, dhcp, bgpPeers } = fabricFacts(app.world)
  for (const { extId } of overlays) {
    await subnets.remove(extId)
    await dhcp.remove(extId)
  }
  const { balancers, health } = balancerFacts(app.world)
  for (const facts of [balancers, health, bgpPeers, policyFacts(app.world), routingFacts(app.world).routers]) {
    for (const id of [...facts.all().keys()]) await facts.remove(id)
  }
}

async function deleteVm(app: TestApp, extId: string): Promise<void> {
  const path = `/vmm/v4.2/ahv/config/vms/${extId}`
  const { etag } = await app.call('GET', path)
  const task = await app.task(await app.call('DELETE', path, { ifMatch: etag as string, requestId: randomUUID() }))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
}
