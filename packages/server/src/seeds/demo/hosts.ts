/** Hosts of a new world, with their BMCs. Source: behaviour clustermgmt.md 4. */

import type { EntityOf } from '@hyperplane/contract'
import { BmcInfo } from '@hyperplane/contract/clustermgmt/bmc-info'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { seedId } from '../../core/ids/named-id.ts'
import { recordDisks } from '../../domains/storage-space/disks.ts'
import { driveFacts, drivesFor, drivesIn, type NewDrive, pooled } from '../../drivers/simulated/drives.ts'
import { type BmcFact, bmcDigest, deviceFacts } from '../../drivers/simulated/hardware.ts'
import { hostNicFacts } from '../../drivers/simulated/host-nics.ts'
import { type NicModelId, usualNics } from '../../drivers/simulated/nic-models.ts'
import type { SeedContext } from '../context.ts'
import { devicesOf } from './host-devices.ts'

const GiB = 1024 ** 3
const TB = 1_000_000_000_000
const microsPerMilli = 1000
const uptimeDays = 30

export const demoBmc = { username: 'ADMIN', password: 'Bmc.Passw0rd!' } as const

export const ipv4 = (value: string) => ({ ipv4: { value, prefixLength: 32 } })

const times = (count: number, drive: NewDrive): NewDrive[] => Array.from({ length: count }, () => drive)

interface HostClass {
  readonly hypervisor: { readonly type: 'AHV' | 'ESX'; readonly fullName: string; readonly userName: string }
  readonly memoryGiB: number
  readonly drives: readonly NewDrive[]
  readonly blockModel: string
  /** The switches of the rack send no LLDP. */
  readonly hasSilentSwitches?: true
}

const nativeHypervisor = { type: 'AHV', fullName: 'Native hypervisor 10.3', userName: 'root' } as const

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
    hypervisor: { type: 'ESX', fullName: 'ESXi 8.0 U3', userName: 'root' },
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
  /** Names of devices that VMs may have entirely. */
  readonly pcieDevices?: readonly string[]
  /** Models of eth0, eth1, ...; default: `usualNics`. */
  readonly nics?: readonly NicModelId[]
  /** Default: the memory of its class. */
  readonly memoryGiB?: number
  readonly categoryExtIds?: readonly string[]
}

export async function seedHosts(
  ctx: SeedContext,
  cluster: { readonly extId: string; readonly name: string },
  hostClass: HostClass,
  hosts: readonly SeedHost[],
): Promise<void> {
  for (const [slot, host] of hosts.entries()) {
    const { extId = seedId(`host/${host.hostName}`), nics = usualNics } = host
    await ctx.store.insert(Host, hostRow(ctx, cluster, hostClass, host, extId))
    await driveFacts(ctx.world).putAll(pooled(drivesFor(extId, hostClass.drives, idOfDrive(host))))
    await recordDisks(ctx.store, extId, drivesIn(ctx.world, extId))
    for (const device of devicesOf({ ...host, extId, clusterExtId: cluster.extId }))
      await deviceFacts(ctx.world).put(device.extId, device)
    const rack = { extId: seedId(`block/${cluster.name}`), slot }
    await hostNicFacts(ctx.world).put(extId, {
      models: nics,
      ...(hostClass.hasSilentSwitches === true ? {} : { rack }),
    })
    if (host.bmcAddress === undefined) continue
    await ctx.store.insert(BmcInfo, {
      extId,
      tenantId: ctx.tenantId,
      clusterExtId: cluster.extId,
      ipAddress: ipv4(host.bmcAddress),
      credential: demoBmc,
      status: 'VALID',
    } as EntityOf<typeof BmcInfo>)
    await ctx.world.collection<BmcFact>('hardware.bmcs').put(extId, {
      address: host.bmcAddress,
      username: demoBmc.username,
      passwordDigest: bmcDigest(extId, demoBmc.password),
    })
  }
}

const idOfDrive =
  ({ hostName }: SeedHost) =>
  (index: number): string =>
    seedId(`disk/${hostName}/${index}`)

function hostRow(
  ctx: SeedContext,
  cluster: { readonly extId: string; readonly name: string },
  hostClass: HostClass,
  host: SeedHost,
  extId: string,
): EntityOf<typeof Host> {
  const sockets = 2
  const cores = sockets * 20
  const hertz = 2_100_000_000
  return {
    extId,
    tenantId: ctx.tenantId,
    hostName: host.hostName,
    cluster: { uuid: cluster.extId, name: cluster.name },
    hostType: 'HYPER_CONVERGED',
    nodeStatus: 'NORMAL',
    maintenanceState: 'normal',
    hypervisor: {
      ...hostClass.hypervisor,
      externalAddress: ipv4(host.address),
      state: 'ACROPOLIS_NORMAL',
      acropolisConnectionState: 'CONNECTED',
    },
    controllerVm: {
      externalAddress: ipv4(host.cvmAddress),
      backplaneAddress: ipv4(`192.168.5.${host.cvmAddress.split('.')[3]}`),
      isInMaintenanceMode: false,
    },
    cpuModel: 'x86-64, 20 cores at 2.1 GHz',
    cpuCapacityHz: cores * hertz,
    cpuFrequencyHz: hertz,
    numberOfCpuCores: cores,
    numberOfCpuSockets: sockets,
    numberOfCpuThreads: 2 * cores,
    memorySizeBytes: (host.memoryGiB ?? hostClass.memoryGiB) * GiB,
    bootTimeUsecs: Math.floor(ctx.clock.now() - uptimeDays * 24 * 60 * 60 * 1000) * microsPerMilli,
    ...(host.gpuList === undefined ? {} : { gpuList: [...host.gpuList] }),
    ...(host.categoryExtIds === undefined ? {} : { categories: [...host.categoryExtIds] }),
    blockModel: hostClass.blockModel,
    blockSerial: `BL${seedId(`block/${cluster.name}`).slice(0, 8).toUpperCase()}`,
    nodeSerial: `ND${extId.slice(0, 8).toUpperCase()}`,
    rackableUnitUuid: seedId(`block/${cluster.name}`),
    hasCsr: false,
    isDegraded: false,
    isHardwareVirtualized: false,
    isRebootPending: false,
    isSecureBooted: false,
  } as EntityOf<typeof Host>
}
