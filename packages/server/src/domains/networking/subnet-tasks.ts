/**
 * Tasks that program subnets into the fabric.
 * Source: behaviour networking.md 1.1 (life of an entity row), 1.2 (tasks), 1.22.
 */
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import type { Drivers } from '../../drivers/drivers.ts'
import type { DhcpService, SubnetProgram } from '../../drivers/network-fabric.ts'
import type { Reader } from '../../store/store.ts'
import type { SubnetEntity } from '../addressing/address-plan.ts'
import { planOf } from '../addressing/address-plan.ts'
import { formatAddress, formatPrefix, readAddress } from '../addressing/ip-address.ts'
import { releaseSubnet, syncOwnLeases } from '../addressing/leases.ts'
import { defineTask } from '../context.ts'
import { adoptLearned, type Learned, learnedOn } from './learned-addresses.ts'

export interface Programming {
  readonly program: SubnetProgram
  /** Absent: hosts answer no DHCP on the subnet. */
  readonly dhcp?: DhcpService
}

export interface UpdateInput {
  readonly before: Programming
  readonly after: Programming
  /** The row to store once the fabric has changed; without `change`. */
  readonly entity: SubnetEntity
}

/** Hosts of the subnet's switch. An overlay subnet has none and spans the hosts of every default switch. */
export async function hostsOfSubnet(store: Reader, subnet: SubnetEntity): Promise<string[]> {
  const switches =
    subnet.virtualSwitchReference === undefined
      ? await store.findWhere(VirtualSwitch, { isDefault: true })
      : await store.getMany(VirtualSwitch, [subnet.virtualSwitchReference])
  return switches.flatMap((one) => one.clusters.flatMap((cluster) => cluster.hosts.map((host) => host.extId)))
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

/** Whether hosts assign addresses themselves; otherwise they only relay DHCP, if at all. */
const isManaging = ({ dhcp }: Programming): boolean => (dhcp?.prefixes.length ?? 0) > 0

const applyDhcp = ({ networkFabric }: Drivers, { program, dhcp }: Programming): Promise<void> =>
  dhcp === undefined ? networkFabric.stopDhcp(program.extId) : networkFabric.serveDhcp(dhcp)

export const createSubnetTask = defineTask<Programming>({
  name: 'networking.create-subnet',
  steps: [
    {
      name: 'program hosts',
      progress: 70,
      seconds: [0.4, 1.2],
      run: (ctx, { program }) => ctx.drivers.networkFabric.programSubnet(program),
      undo: (ctx, { program }) => ctx.drivers.networkFabric.removeSubnet(program.extId),
    },
    {
      name: 'start DHCP',
      progress: 100,
      seconds: [0.1, 0.3],
      run: (ctx, input) => applyDhcp(ctx.drivers, input),
      undo: (ctx, { program }) => ctx.drivers.networkFabric.stopDhcp(program.extId),
      record: async (ctx, { program }) => {
        await ctx.store.update(Subnet, program.extId, { change: undefined })
      },
    },
  ],
  onUndone: (ctx, { program }) => removeRow(ctx.store, program.extId),
})

export const updateSubnetTask = defineTask<UpdateInput>({
  name: 'networking.update-subnet',
  steps: [
    {
      name: 'program hosts',
      progress: 60,
      seconds: [0.4, 1.2],
      run: (ctx, { after }) => ctx.drivers.networkFabric.programSubnet(after.program),
      undo: (ctx, { before }) => ctx.drivers.networkFabric.programSubnet(before.program),
    },
    {
      name: 'configure DHCP',
      progress: 100,
      seconds: [0.1, 0.3],
      run: async (ctx, { before, after, entity }) => {
        const isNewlyManaged = !isManaging(before) && isManaging(after)
        const learned = isNewlyManaged ? await learnedOn(ctx, entity.extId) : []
        await applyDhcp(ctx.drivers, after)
        return learned
      },
      undo: (ctx, { before }) => applyDhcp(ctx.drivers, before),
      record: async (ctx, { entity }, learned: readonly Learned[]) => {
        await syncOwnLeases(ctx, entity, planOf(entity.ipConfig))
        await ctx.store.replace(Subnet, entity)
        await adoptLearned(ctx, entity, learned)
      },
    },
  ],
  async onUndone(ctx, { entity }) {
    const subnet = await ctx.store.get(Subnet, entity.extId)
    if (subnet === undefined) return
    await syncOwnLeases(ctx, subnet, planOf(subnet.ipConfig))
    await ctx.store.update(Subnet, subnet.extId, { change: undefined })
  },
})

export const deleteSubnetTask = defineTask<{ readonly extId: string }>({
  name: 'networking.delete-subnet',
  steps: [
    {
      name: 'stop DHCP',
      progress: 30,
      seconds: [0.1, 0.3],
      run: (ctx, { extId }) => ctx.drivers.networkFabric.stopDhcp(extId),
    },
    {
      name: 'remove from hosts',
      progress: 100,
      seconds: [0.3, 1],
      run: (ctx, { extId }) => ctx.drivers.networkFabric.removeSubnet(extId),
      record: (ctx, { extId }) => removeRow(ctx.store, extId),
    },
  ],
  pointOfNoReturn: 'stop DHCP',
})

async function removeRow(store: Parameters<typeof releaseSubnet>[0], extId: string): Promise<void> {
  await releaseSubnet(store, extId)
  await store.remove(Subnet, extId)
}
