/** Builders for VPCs and what is a part of them, and what must be true of them. */

import assert from 'node:assert/strict'
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { FloatingIp } from '@hyperplane/contract/networking/floating-ip'
import { Route } from '@hyperplane/contract/networking/route'
import { RouteTable } from '@hyperplane/contract/networking/route-table'
import { RoutingPolicy } from '@hyperplane/contract/networking/routing-policy'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { seedId } from '../../src/core/ids/named-id.ts'
import { formatAddress } from '../../src/core/ip-address.ts'
import { addressOfLease } from '../../src/domains/addressing/leases.ts'
import { policyProgramOf } from '../../src/domains/networking/policy-program.ts'
import { routeProgramOf } from '../../src/domains/networking/route.ts'
import { portOf, routerOf } from '../../src/domains/networking/vpc-tasks.ts'
import { routeFacts } from '../../src/drivers/simulated/router-facts.ts'
import { policyFacts } from '../../src/drivers/simulated/routing-policies.ts'
import { routingFacts } from '../../src/drivers/simulated/virtual-routing.ts'
import type { CallResult, TestApp } from './start-app.ts'

export const vpcs = '/networking/v4.3/config/vpcs'
export const controllers = '/networking/v4.3/config/controllers'
export const routeTables = '/networking/v4.3/config/route-tables'
export const routingPolicies = '/networking/v4.3/config/routing-policies'
export const routesOf = (table: string): string => `${routeTables}/${table.slice(-36)}/routes`
export const demoRoutes = (vpc: string): string => routesOf(seedId(`route-table/${vpc}`))
export const floatingIps = '/networking/v4.3/config/floating-ips'
export const demoVpc = (name: string): string => `${vpcs}/${seedId(`vpc/${name}`)}`
export const demoController = `${controllers}/${seedId('network-controller')}`

export const attachedTo = (subnetName: string, more: object = {}): object => ({
  subnetReference: seedId(`subnet/${subnetName}`),
  ...more,
})
export const ip = (value: string): object => ({ ipv4: { value, prefixLength: 32 } })
export const prefix = (text: string): object => {
  const [value, length] = text.split('/')
  return { ipv4: { ip: { value, prefixLength: 32 }, prefixLength: Number(length) } }
}

/** Sends, waits, and answers the path of what the task names first. */
export async function made(app: TestApp, collection: string, body: object): Promise<string> {
  const task = await app.task(await app.call('POST', collection, { body }))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return `${collection}/${task.entitiesAffected[0].extId}`
}
export const aVpc = (app: TestApp, body: object = {}): Promise<string> => made(app, vpcs, { name: 'test', ...body })

/** Path of the routes of a VPC. */
export const routesIn = async (app: TestApp, vpc: string): Promise<string> =>
  routesOf((await app.store.findOne(RouteTable, { vpcReference: vpc.slice(-36) }))!.extId)

/** Body of a static route through an external subnet of the demo. */
export const throughSubnet = (destination: string, subnetName: string, more: object = {}): object => ({
  routeType: 'STATIC',
  destination: prefix(destination),
  nexthop: { nexthopType: 'EXTERNAL_SUBNET', nexthopReference: seedId(`subnet/${subnetName}`) },
  ...more,
})

/** Sends an entity back as it was read, with changes. */
export async function put(app: TestApp, path: string, changes: object = {}): Promise<CallResult> {
  const { data, etag } = await app.call('GET', path)
  return app.call('PUT', path, { body: { ...data, ...changes }, ifMatch: etag as string })
}
export async function changed(app: TestApp, path: string, changes: object = {}): Promise<any> {
  const task = await app.task(await put(app, path, changes))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return (await app.call('GET', path)).data
}
export async function removed(app: TestApp, path: string): Promise<void> {
  const task = await app.task(await app.call('DELETE', path))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.equal((await app.call('GET', path)).status, 404)
}

/** Violations of: each VPC has one route table and one default policy, and the fabric matches the rows of VPCs, routes and floating IPs. */
export async function vpcFaults(app: TestApp): Promise<string[]> {
  const faults: string[] = []
  const differ = (what: string, found: unknown, expected: unknown): void => {
    const [a, b] = [JSON.stringify(found), JSON.stringify(expected)]
    if (a !== b) faults.push(`${what}: found ${a}, expected ${b}`)
  }
  const { floatingIps, routers } = routingFacts(app.world)
  for (const { extId, name, vpcReference, privateIp } of await app.store.find(FloatingIp)) {
    const { vpcExtId, privateAddress } = floatingIps.get(extId) ?? {}
    differ(`translation of "${name}"`, [vpcExtId, privateAddress], [vpcReference, privateIp])
  }
  for (const route of await app.store.find(Route)) {
    const { since: _, ...installed } = routeFacts(app.world).get(route.extId) ?? { since: 0 }
    differ(`route "${route.destinationAndNexthop}"`, installed, routeProgramOf(route))
  }
  for (const vpc of await app.store.find(Vpc)) {
    const tables = await app.store.findWhere(RouteTable, { vpcReference: vpc.extId })
    const policies = await app.store.findWhere(RoutingPolicy, { vpcExtId: vpc.extId })
    differ(`route tables of "${vpc.name}"`, tables.length, 1)
    differ(`default policies of "${vpc.name}"`, policies.filter(({ priority }) => priority < 10).length, 1)
    differ(`router of "${vpc.name}"`, routers.get(vpc.extId)?.program, routerOf(vpc))
    const attachments = vpc.externalSubnets ?? []
    const bySubnet = (a: { subnetExtId: string }, b: { subnetExtId: string }): number =>
      a.subnetExtId < b.subnetExtId ? -1 : 1
    const ports = [...(routers.get(vpc.extId)?.ports ?? [])].sort(bySubnet)
    differ(`ports of "${vpc.name}"`, ports, attachments.map(portOf).sort(bySubnet))
    const leases = await app.store.findWhere(AddressLease, { holderExtId: vpc.extId })
    const held = leases
      .map((lease) => `${lease.subnetExtId} ${formatAddress(addressOfLease(lease))} ${lease.kind}`)
      .sort()
    const shown = attachments
      .map(portOf)
      .flatMap((port) => port.addresses.map((address) => `${port.subnetExtId} ${address} ROUTER_PORT`))
    differ(`leases of "${vpc.name}"`, held, shown.sort())
    for (const policy of policies) {
      const { countedSince: _, ...installed } = policyFacts(app.world).get(policy.extId) ?? { countedSince: 0 }
      differ(`policy "${policy.name}" of "${vpc.name}"`, installed, policyProgramOf(policy))
    }
  }
  return faults
}
