/** Builders for subnets and their addresses. */

import assert from 'node:assert/strict'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { seedId } from '../../src/core/ids/named-id.ts'
import { parseAddress } from '../../src/core/ip-address.ts'
import { addressesAreCounted } from '../../src/domains/addressing/invariants.ts'
import { leaseAddress } from '../../src/domains/addressing/leases.ts'
import { brokenInvariants } from '../../src/domains/invariants/invariants.ts'
import type { CallResult, TestApp } from './start-app.ts'

export const subnets = '/networking/v4.3/config/subnets'
export const demoSubnet = (name: string): string => `${subnets}/${seedId(`subnet/${name}`)}`

const v4 = (value: string) => ({ value, prefixLength: 32 })
const v6 = (value: string) => ({ value, prefixLength: 128 })

export interface Ranges {
  /** `10.20.0.0/24`; gateway `.1`. */
  readonly ipv4?: string
  readonly ipv6?: string
  readonly pools?: readonly (readonly [string, string])[]
  readonly pools6?: readonly (readonly [string, string])[]
}

/** A body of ipConfig; the gateway is the first address. */
export function ipConfigOf({ ipv4, ipv6, pools = [], pools6 = [] }: Ranges): object[] {
  const gateway = (prefix: string): string => prefix.replace(/\.\d+\/\d+$/, '.1').replace(/::\/\d+$/, '::1')
  return [
    {
      ...(ipv4 === undefined
        ? {}
        : {
            ipv4: {
              ipSubnet: { ip: v4(ipv4.split('/')[0]!), prefixLength: Number(ipv4.split('/')[1]) },
              defaultGatewayIp: v4(gateway(ipv4)),
              poolList: pools.map(([start, end]) => ({ startIp: v4(start), endIp: v4(end) })),
            },
          }),
      ...(ipv6 === undefined
        ? {}
        : {
            ipv6: {
              ipSubnet: { ip: v6(ipv6.split('/')[0]!), prefixLength: Number(ipv6.split('/')[1]) },
              defaultGatewayIp: v6(gateway(ipv6)),
              poolList: pools6.map(([start, end]) => ({ startIp: v6(start), endIp: v6(end) })),
            },
          }),
    },
  ]
}

/** A managed VLAN subnet that exists when this resolves; its path. */
export async function aSubnet(app: TestApp, ranges: Ranges, body: object = {}): Promise<string> {
  const task = await app.task(
    await app.call('POST', subnets, {
      body: { name: 'test', subnetType: 'VLAN', networkId: 7, ipConfig: ipConfigOf(ranges), ...body },
    }),
  )
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return `${subnets}/${task.entitiesAffected[0].extId}`
}

export const reserve = (app: TestApp, subnet: string, body: object, options: object = {}): Promise<CallResult> =>
  app.call('POST', `${subnet}/addresses/$actions/reserve`, { body, ...options })
export const unreserve = (app: TestApp, subnet: string, body: object): Promise<CallResult> =>
  app.call('POST', `${subnet}/addresses/$actions/unreserve`, { body })

/** Addresses that a reservation or its end names in its task. */
export async function addressesOfTask(app: TestApp, started: CallResult): Promise<string[]> {
  const task = await app.task(started)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.equal(task.completionDetails.length, 1)
  assert.equal(task.completionDetails[0].name, 'reserved_or_unreserved_ips')
  const value = JSON.parse(task.completionDetails[0].value)
  return value.reserved_ips ?? value.unreserved_ips
}

export const usageOf = async (app: TestApp, subnet: string): Promise<any> =>
  (await app.call('GET', subnet)).data.ipUsage

/** Assigns an address as a NIC does: in a transaction of its own. */
export async function assign(app: TestApp, subnet: string, holder: string, address?: string): Promise<string> {
  return app.store.transaction(async (store) => {
    const entity = await store.get(Subnet, subnet.slice(subnet.lastIndexOf('/') + 1))
    const ctx = { store, ids: { uuid: () => crypto.randomUUID() }, clock: app.clock }
    const given = address === undefined ? {} : { address: parseAddress('IPV4', address)! }
    const leased = await leaseAddress(ctx, entity!, { kind: 'ASSIGNED', holder, ...given })
    return leased.value.toString()
  })
}

/** Runs and tallies of addresses agree with the leases. */
export async function recount(app: TestApp): Promise<void> {
  assert.deepEqual(await brokenInvariants(app.store, [addressesAreCounted]), [])
}
