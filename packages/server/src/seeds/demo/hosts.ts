/** Hosts of a new world, with their BMCs. Source: behaviour clustermgmt.md 4. */

import { BmcInfo } from '@hyperplane/contract/clustermgmt/bmc-info'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { defined } from '../../core/defined.ts'
import { seedId } from '../../core/ids/named-id.ts'
import { hostRowOf, ipv4 } from '../../domains/clustermgmt/topology/host-row.ts'
import { recordDisks } from '../../domains/storage-space/disks.ts'
import type { NodeView } from '../../drivers/nodes.ts'
import { driveFacts, drivesFor, drivesIn, type NewDrive, pooled } from '../../drivers/simulated/drives.ts'
import { type BmcFact, bmcDigest, deviceFacts } from '../../drivers/simulated/hardware.ts'
import { hostNicFacts } from '../../drivers/simulated/host-nics.ts'
import { defaultNics, type NicModelId } from '../../drivers/simulated/nic-models.ts'
import { nodeFacts } from '../../drivers/simulated/nodes.ts'
import type { SeedContext } from '../context.ts'
import { devicesOf } from './host-devices.ts'

const GiB = 1024 ** 3
const TB = 1_000_000_000_000
const uptimeDays = 30

export const demoBmc = { username: 'ADMIN', password: 'Bmc.Passw0rd!' } as const

export { ipv4 }

const times = (count: number, drive: NewDrive): NewDrive[] => Array.from({ length: count }, () => drive)

interface HostClass {
  readonly hypervisor: {
    readonly type: 'AHV' | 'ESX'
    readonly product: string
    readonly version: string
    readonly userName: string
  }
  readonly memoryGiB: number
  readonly drives: readonly NewDrive[]
  readonly blockModel: string
  /** The switches of the rack send no LLDP. */
  readonly hasSilentSwitches?: true
}

const nativeHypervisor = { type: 'AHV', product: 'Native hypervisor', version: '10.3', userName: 'root' } as const

const hybrid = [
  ...times(2, { tier: 'SSD_SATA', sizeBytes: 1.92 * TB }),
  ...times(4, { tier: 'DAS_SATA', sizeBytes: 4 * TB }),
]

export const hostClasses = {
  native: {
    hypervisor: nativeHypervisor,
    memoryGiB: 768,
    drives: hybrid,
    blockModel: 'NX-3460-G8',
  },
  extern: {
    hypervisor: { type: 'ESX', product: 'ESXi', version: '8.0 U3', userName: 'root' },
    memoryGiB: 512,
    drives: hybrid,
    blockModel: 'NX-3360-G8',
  },
  cloud: {
    hypervisor: nativeHypervisor,
    memoryGiB: 512,
    drives: times(4, { tier: 'SSD_PCIE', sizeBytes: 3.84 * TB }),
    blockModel: 'bare-metal',
    hasSilentSwitches: true,
  },
} as const satisfies Record<string, HostClass>

export interface SeedHost {
  readonly extId?: string
  readonly hostName: string
  readonly address: string
  readonly cvmAddress: string
  readonly bmcAddress?: string
  readonly gpuList?: readonly string[]
  readonly pcieDevices?: readonly string[]
  /** Models of eth0, eth1, ...; default: `defaultNics`. */
  readonly nics?: readonly NicModelId[]
  readonly memoryGiB?: number
  readonly drives?: readonly NewDrive[]
  readonly categoryExtIds?: readonly string[]
}

export async function seedHosts(
  ctx: SeedContext,
  cluster: { readonly extId: string; readonly name: string },
  hostClass: HostClass,
  hosts: readonly SeedHost[],
): Promise<void> {
  const bootedAt = ctx.clock.now() - uptimeDays * 24 * 60 * 60 * 1000
  for (const [slot, host] of hosts.entries()) {
    const { extId = seedId(`host/${host.hostName}`), categoryExtIds } = host
    const node = { ...nodeOf(hostClass, { ...host, extId }, { name: cluster.name, slot }), clusterExtId: cluster.extId }
    await nodeFacts(ctx.world).put(extId, node)
    const row = hostRowOf(node, { tenantId: ctx.tenantId, cluster, hostName: host.hostName, bootedAt })
    await ctx.store.insert(Host, { ...row, ...(categoryExtIds && { categories: [...categoryExtIds] }) })
    const drives = drivesFor(extId, host.drives ?? hostClass.drives, idOfDrive(host))
    await driveFacts(ctx.world).putAll(pooled(drives))
    await recordDisks(ctx.store, extId, drivesIn(ctx.world, extId))
    for (const device of devicesOf({ ...host, extId, clusterExtId: cluster.extId }))
      await deviceFacts(ctx.world).put(device.extId, device)
    await seedParts(ctx, hostClass, { ...host, extId }, { name: cluster.name, slot })
    if (host.bmcAddress === undefined) continue
    await ctx.store.insert(BmcInfo, {
      extId,
      tenantId: ctx.tenantId,
      clusterExtId: cluster.extId,
      ipAddress: ipv4(host.bmcAddress),
      credential: demoBmc,
      status: 'VALID',
    } as BmcInfo)
  }
}

const idOfDrive =
  ({ hostName }: SeedHost) =>
  (index: number): string =>
    seedId(`disk/${hostName}/${index}`)

export interface SeedNode extends Omit<SeedHost, 'categoryExtIds' | 'hostName'> {
  readonly name: string
  readonly hypervisorVersion?: string
  readonly softwareVersion?: string
  readonly rackName?: string
}

/** In one block, outside clusters, from `firstSlot` on. */
export async function seedUnconfiguredNodes(
  ctx: SeedContext,
  hostClass: HostClass,
  block: string,
  nodes: readonly SeedNode[],
  firstSlot = 0,
): Promise<void> {
  for (const [index, described] of nodes.entries()) {
    const slot = firstSlot + index
    const { extId = seedId(`node/${described.name}`), name: hostName } = described
    const host = { ...described, hostName, extId }
    const node = nodeOf(hostClass, host, { name: block, slot }, described)
    const devices = devicesOf({ ...described, extId, clusterExtId: '' })
    await nodeFacts(ctx.world).put(extId, { ...node, ...(devices.length > 0 && { devices }) })
    await driveFacts(ctx.world).putAll(drivesFor(extId, host.drives ?? hostClass.drives, idOfDrive(host)))
    await seedParts(ctx, hostClass, host, { name: block, slot })
  }
}

interface Slot {
  readonly name: string
  readonly slot: number
}

type NamedHost = SeedHost & { readonly extId: string }

async function seedParts(
  { world }: SeedContext,
  hostClass: HostClass,
  { extId, nics = defaultNics, bmcAddress }: NamedHost,
  { name, slot }: Slot,
): Promise<void> {
  const rack = { extId: seedId(`block/${name}`), slot }
  await hostNicFacts(world).put(extId, { models: nics, ...(hostClass.hasSilentSwitches === true ? {} : { rack }) })
  if (bmcAddress === undefined) return
  await world.collection<BmcFact>('hardware.bmcs').put(extId, {
    address: bmcAddress,
    username: demoBmc.username,
    passwordDigest: bmcDigest(extId, demoBmc.password),
  })
}

const maximumNodes = 4
const blockId = (name: string, slot: number): string =>
  seedId(slot < maximumNodes ? `block/${name}` : `block/${name}/${Math.floor(slot / maximumNodes)}`)
const hertz = 2_100_000_000

function nodeOf(
  hostClass: HostClass,
  host: NamedHost,
  { name, slot }: Slot,
  { hypervisorVersion, softwareVersion = '7.3', rackName }: Partial<SeedNode> = {},
): NodeView {
  const { type, product, userName } = hostClass.hypervisor
  const version = hypervisorVersion ?? hostClass.hypervisor.version
  const blockExtId = blockId(name, slot)
  return {
    nodeUuid: host.extId,
    serialNumber: `ND${host.extId.slice(0, 8).toUpperCase()}`,
    hypervisor: { type, version, fullName: `${product} ${version}`, userName },
    softwareVersion,
    addresses: { hypervisor: host.address, cvm: host.cvmAddress, ...defined({ bmc: host.bmcAddress }) },
    ipv6: `fe80::5054:ff:fe${host.extId.slice(0, 2)}:${host.extId.slice(2, 6)}`,
    interfaceName: 'eth0',
    foundationVersion: '5.9',
    cpu: { model: 'x86-64, 20 cores at 2.1 GHz', sockets: 2, coresPerSocket: 20, threadsPerCore: 2, hertz },
    memorySizeBytes: (host.memoryGiB ?? hostClass.memoryGiB) * GiB,
    ...(host.gpuList && { gpuList: [...host.gpuList] }),
    block: {
      extId: blockExtId,
      serialNumber: `BL${blockExtId.slice(0, 8).toUpperCase()}`,
      model: hostClass.blockModel,
      maximumNodes,
      ...defined({ rackName }),
    },
    position: String.fromCharCode(firstPosition + (slot % maximumNodes)),
    isSecureBooted: false,
  }
}

const firstPosition = 65
