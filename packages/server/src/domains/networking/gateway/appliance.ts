/** The appliance of a local gateway: a VM that no list of VMs shows. Source: behaviour networking.md 1.9, 1.22. */
import { isDeepStrictEqual } from 'node:util'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { derivedId } from '../../../core/ids/named-id.ts'
import { textOf } from '../../../core/ip-address.ts'
import type { Domain, DomainNic } from '../../../drivers/hypervisor.ts'
import type { Reader } from '../../../store/store.ts'
import { DriverError, type StepContext, type WriteContext } from '../../context.ts'
import { containerForNodes, holdNode, hostForNode } from '../../scheduling/manager-nodes.ts'
import { allocationsOf } from '../../scheduling/scheduler.ts'
import type { Phase } from '../lifecycle.ts'
import { type GatewayEntity, isHighlyAvailable, networkOf } from './entity.ts'
import { defaultSwitch } from './placement.ts'

const GiB = 1024 ** 3
export const applianceSize = { vcpus: 2, memoryBytes: 4 * GiB }
const diskBytes = 30 * GiB

/** Each version of the software has a disk of its own. */
export const applianceDiskId = (vmExtId: string, version: string): string => derivedId('gateway disk', vmExtId, version)
export const applianceOf = ({ vmReference }: GatewayEntity): string => vmReference as string
export const clusterOfGateway = ({ deployment }: GatewayEntity): string => deployment?.clusterReference as string

export const hostOfGateway = async (store: Reader, gateway: GatewayEntity): Promise<string | undefined> =>
  (await allocationsOf(store, applianceOf(gateway)))[0]?.hostExtId

export const vmNameOf = ({ extId }: GatewayEntity): string => `gateway-${extId.slice(0, 8)}`

/** @param taken hosts that are not to run it */
export async function hostFor(
  ctx: Pick<WriteContext, 'drivers'> & { readonly store: Reader },
  gateway: GatewayEntity,
  taken: readonly string[] = [],
) {
  const switchExtIds = (await nicsOf(ctx.store, gateway)).flatMap(({ switchExtId }) => switchExtId ?? [])
  const needs = { ...applianceSize, switchExtIds }
  const apart = await hostsOfPeers(ctx.store, gateway)
  const choice = await hostForNode(ctx, clusterOfGateway(gateway), needs, [...taken, ...apart])
  const isPossible = apart.length === 0 || !('reasons' in choice)
  return isPossible ? choice : hostForNode(ctx, clusterOfGateway(gateway), needs, taken)
}

/** A failing host must not affect the standby as well. */
async function hostsOfPeers(store: Reader, gateway: GatewayEntity): Promise<readonly string[]> {
  if (!isHighlyAvailable(gateway)) return []
  const others = ((await store.find(Gateway)) as GatewayEntity[]).filter(
    (other) => other.extId !== gateway.extId && isHighlyAvailable(other) && networkOf(other) === networkOf(gateway),
  )
  return (await Promise.all(others.map((other) => hostOfGateway(store, other)))).filter((host) => host !== undefined)
}

export const placePhase: Phase<GatewayEntity> = {
  create: ['place on a host', 5, [0.5, 1]],
  async record(ctx, gateway) {
    const choice = await hostFor(ctx, gateway)
    if ('reasons' in choice) {
      const why = `no host can run the gateway ${gateway.name}: expected a host of its cluster with 2 vCPUs and 4 GiB of memory free`
      throw DriverError.final(why)
    }
    await holdNode(
      ctx.store,
      { extId: applianceOf(gateway), hostExtId: choice.hostExtId, clusterExtId: clusterOfGateway(gateway) },
      applianceSize,
    )
  },
}

export const diskPhase: Phase<GatewayEntity> = {
  create: ['create VM and disk', 40, [10, 20]],
  update: ['configure VM', 50, [0.5, 1.5]],
  delete: ['delete VM', 100, [2, 5]],
  async program(ctx, gateway, before) {
    if (before !== undefined && isDeepStrictEqual(before.deployment?.interfaces, gateway.deployment?.interfaces)) return
    await createDisk(ctx, gateway)
    await fenceOnSilentHost(ctx, gateway)
    await ctx.drivers.hypervisor.defineVm(await applianceDomain(ctx.store, gateway))
  },
  async remove({ drivers }, gateway) {
    await drivers.hypervisor.undefineVm(applianceOf(gateway))
    await drivers.hypervisor.deleteDisk(
      applianceDiskId(applianceOf(gateway), gateway.installedSoftwareVersion as string),
    )
  },
}

export const powerPhase: Phase<GatewayEntity> = {
  create: ['power on', 50, [3, 6]],
  delete: ['power off', 60, [2, 5]],
  program: async (ctx, gateway) =>
    ctx.drivers.hypervisor.startVm(applianceOf(gateway), (await hostOfGateway(ctx.store, gateway)) as string),
  remove: (ctx, gateway) => powerOff(ctx, gateway),
}

export const agentPhase: Phase<GatewayEntity> = {
  create: ['wait for its agent', 85],
  program: ({ drivers }, gateway) => drivers.networkFabric.awaitAgent(gateway.extId, applianceOf(gateway)),
  remove: ({ drivers }, { extId }) => drivers.networkFabric.removeGateway(extId),
}

async function powerOff(ctx: StepContext, gateway: GatewayEntity): Promise<void> {
  await fenceOnSilentHost(ctx, gateway)
  await ctx.drivers.hypervisor.stopVm(applianceOf(gateway))
}

/** Cuts the appliance off from a host that does not answer. Its recovery starts it on another one. */
export async function fenceOnSilentHost({ drivers, store }: StepContext, gateway: GatewayEntity): Promise<void> {
  const host = await hostOfGateway(store, gateway)
  if (host !== undefined && !drivers.hardware.isHostUp(host))
    await drivers.hypervisor.fenceVm(applianceOf(gateway), host)
}

export async function createDisk({ drivers, store }: StepContext, gateway: GatewayEntity): Promise<void> {
  const containerExtId = await containerForNodes(store, clusterOfGateway(gateway))
  const extId = applianceDiskId(applianceOf(gateway), gateway.installedSoftwareVersion as string)
  await drivers.hypervisor.createDisk({ extId, containerExtId, sizeBytes: diskBytes })
}

export async function applianceDomain(store: Reader, gateway: GatewayEntity): Promise<Domain> {
  return {
    extId: applianceOf(gateway),
    clusterExtId: clusterOfGateway(gateway),
    name: vmNameOf(gateway),
    ...applianceSize,
    bootOrder: ['DISK'],
    diskExtIds: [applianceDiskId(applianceOf(gateway), gateway.installedSoftwareVersion as string)],
    isoExtIds: [],
    nics: (await nicsOf(store, gateway)).map(({ nic }) => nic),
    serialPorts: [],
    hasGuestTools: false,
    hasPendingCustomization: false,
  }
}

async function nicsOf(store: Reader, gateway: GatewayEntity) {
  const { interfaces = [], managementInterface } = gateway.deployment ?? {}
  const nics: { readonly nic: DomainNic; readonly switchExtId: string | undefined }[] = []
  for (const [index, { subnetReference, ipAddress, macAddress }] of interfaces.entries()) {
    const subnet = subnetReference === undefined ? undefined : await store.get(Subnet, subnetReference)
    const switchExtId =
      subnet === undefined ? await defaultSwitch(store, clusterOfGateway(gateway)) : subnet.virtualSwitchReference
    const tag = managementInterface?.vlanId
    const nic = {
      extId: derivedId('gateway NIC', gateway.extId, index),
      macAddress: macAddress as string,
      isConnected: true,
      model: 'VIRTIO',
      numQueues: 1,
      allowsUnknownMacs: false,
      address: textOf(ipAddress) as string,
      ...(subnetReference !== undefined && { subnetExtId: subnetReference }),
      ...(tag !== undefined && switchExtId !== undefined && { vlan: { virtualSwitchExtId: switchExtId, tag } }),
    } as const
    nics.push({ nic, switchExtId })
  }
  return nics
}
