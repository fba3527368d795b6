/** Subnets on hosts and at their DHCP responders. Source: behaviour networking.md 1.2 (tasks), 1.22. */

import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { formatAddress, formatPrefix, readAddress } from '../../core/ip-address.ts'
import type { DhcpService, SubnetProgram } from '../../drivers/network-fabric.ts'
import type { Reader } from '../../store/store.ts'
import type { SubnetEntity } from '../addressing/address-plan.ts'
import { planOf } from '../addressing/address-plan.ts'
import { isManaged, syncOwnLeases } from '../addressing/leases.ts'
import type { RecordContext, StepContext } from '../context.ts'
import { overlaySwitches } from '../scheduling/overlay-switches.ts'
import { adoptLearned, type Learned, learnedOn } from './learned-addresses.ts'
import type { Phase } from './lifecycle.ts'

export interface Programming {
  readonly program: SubnetProgram
  readonly dhcp?: DhcpService
}

/** An overlay subnet spans the hosts of the switches that carry the traffic of VPCs. */
export async function hostsOfSubnet(store: Reader, { virtualSwitchReference }: SubnetEntity): Promise<string[]> {
  const switches =
    virtualSwitchReference === undefined
      ? await carryingSwitches(store)
      : await store.getMany(VirtualSwitch, [virtualSwitchReference])
  return switches.flatMap((one) => one.clusters.flatMap((cluster) => cluster.hosts.map((host) => host.extId)))
}

/** By cluster: the mapped switch, else the default one. */
async function carryingSwitches(store: Reader) {
  const mapped = await overlaySwitches(store)
  const byDefault = await store.findWhere(VirtualSwitch, { isDefault: true })
  return [
    ...byDefault.filter(({ clusterExtId }) => !mapped.has(clusterExtId!)),
    ...(await store.getMany(VirtualSwitch, [...mapped.values()])),
  ]
}

/** After the switches that carry them have changed. */
export async function programOverlaySubnets(ctx: StepContext): Promise<void> {
  for (const subnet of await ctx.store.findWhere(Subnet, { subnetType: 'OVERLAY' }))
    if (subnet.change?.verb !== 'create' && subnet.change?.verb !== 'delete')
      await ctx.drivers.networkFabric.programSubnet((await programmingOf(ctx.store, subnet)).program)
}

export async function programmingOf(store: Reader, subnet: SubnetEntity): Promise<Programming> {
  const prefixes = Object.values(planOf(subnet.ipConfig))
  const relayTo = (subnet.externalDhcpServers ?? []).flatMap((server) => {
    const address = readAddress(server.externalDhcpServerIpAddress ?? {})
    const port = server.externalDhcpServerPort ?? 67
    return typeof address === 'string' ? [] : [{ address: formatAddress(address), port }]
  })
  return {
    program: {
      extId: subnet.extId,
      type: subnet.subnetType,
      tag: subnet.vni ?? subnet.networkId ?? 0,
      ...(subnet.virtualSwitchReference === undefined ? {} : { virtualSwitchExtId: subnet.virtualSwitchReference }),
      ...(subnet.vpcReference === undefined ? {} : { vpcExtId: subnet.vpcReference }),
      hostExtIds: await hostsOfSubnet(store, subnet),
      ...(subnet.isAdvancedNetworking === true ? { isAdvanced: true } : {}),
      ...(subnet.networkFunctionChainReference === undefined
        ? {}
        : { functionChainExtId: subnet.networkFunctionChainReference }),
    },
    ...(prefixes.length === 0 && relayTo.length === 0
      ? {}
      : {
          dhcp: {
            subnetExtId: subnet.extId,
            ...(subnet.vpcReference === undefined ? {} : { vpcExtId: subnet.vpcReference }),
            prefixes: prefixes.map((plan) => formatPrefix(plan.prefix)),
            gateways: prefixes.flatMap(({ gateway, prefix }) =>
              gateway === undefined ? [] : [formatAddress({ family: prefix.family, value: gateway })],
            ),
            options: subnet.dhcpOptions ?? {},
            ...(relayTo.length === 0 ? {} : { relayTo }),
          },
        }),
  }
}

export const subnetPhases: readonly Phase<SubnetEntity>[] = [
  {
    create: ['program hosts', 70, [0.4, 1.2]],
    update: ['program hosts', 60, [0.4, 1.2]],
    delete: ['remove from hosts', 100, [0.3, 1]],
    async program(ctx, subnet) {
      await ctx.drivers.networkFabric.programSubnet((await programmingOf(ctx.store, subnet)).program)
    },
    remove: (ctx, { extId }) => ctx.drivers.networkFabric.removeSubnet(extId),
  },
  {
    create: ['start DHCP', 100, [0.1, 0.3]],
    update: ['configure DHCP', 100, [0.1, 0.3]],
    delete: ['stop DHCP', 30, [0.1, 0.3]],
    /** @returns addresses that guests learned, when an update makes the subnet managed */
    async program(ctx, subnet, before) {
      const isNewlyManaged = before !== undefined && !isManaged(before) && isManaged(subnet)
      const learned = isNewlyManaged ? await learnedOn(ctx, subnet.extId) : []
      const { dhcp } = await programmingOf(ctx.store, subnet)
      if (dhcp === undefined) await ctx.drivers.networkFabric.stopDhcp(subnet.extId)
      else await ctx.drivers.networkFabric.serveDhcp(dhcp)
      return learned
    },
    remove: (ctx, { extId }) => ctx.drivers.networkFabric.stopDhcp(extId),
  },
]

/** Releases addresses that the stored subnet no longer has, and leases those that its guests use. */
export async function settleAddresses(
  ctx: RecordContext,
  subnet: SubnetEntity,
  learned: readonly Learned[] = [],
): Promise<void> {
  await syncOwnLeases(ctx, subnet, planOf(subnet.ipConfig))
  await adoptLearned(ctx, subnet, learned)
}
