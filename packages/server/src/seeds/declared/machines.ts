import type { EntityOf } from '@hyperplane/contract'
import type { Image } from '@hyperplane/contract/vmm/content/image'
import { defined } from '../../core/defined.ts'
import { type Address, parseAddress } from '../../core/ip-address.ts'
import type { SubnetEntity } from '../../domains/addressing/address-plan.ts'
import { hostCapacity, hostsOf, largestDisk } from '../../domains/storage-space/capacity.ts'
import type { VmEntity } from '../../domains/virtual-machines/entity.ts'
import { MacLease } from '../../domains/virtual-machines/mac-lease.ts'
import { seedImage } from '../demo/images.ts'
import { turnsOf } from '../demo/many-vms.ts'
import { osOf, type SeedCdRom, type SeedDisk, type SeedNic, seedVm, workingTools } from '../demo/vm.ts'
import { plainVmFields } from '../format/machines.ts'
import type { Declared, DeclaredVm } from '../format.ts'
import type { ClusterEntity, Filling } from './filling.ts'

const GiB = 1024 ** 3
const day = 24 * 3600
const daysOn = 9
const defaultImageGiB = 2

export const fillImages = (filling: Filling, images: Declared['images']): Promise<void> =>
  filling.each('images', images, async (item, path) => {
    const { name, extId, description, sizeGiB, url } = item
    const { type = name.endsWith('.iso') ? 'ISO_IMAGE' : 'DISK_IMAGE' } = item
    const [clusters, categoryExtIds] = await filling.all([
      () =>
        filling.all(
          (item.clusters ?? []).map((one, index) => () => filling.cluster(one, `${path}.clusters[${index}]`)),
        ),
      () => filling.categories(item.categories, `${path}.categories`),
    ])
    const where = item.clusters === undefined ? await filling.natives() : clusters
    if (where.length === 0) filling.refuse(path, 'expected a native cluster for it to lie on: there is none')
    const clusterExtIds = where.map((cluster) => cluster.extId)
    const source = { url: url ?? `https://images.example.com/${encodeURIComponent(name)}` }
    const body = {
      name,
      type,
      ...defined({ description }),
      source: { $objectType: 'vmm.v4.content.UrlSource', ...source },
    }
    if (url !== undefined && sizeGiB === undefined) {
      await filling.perform(path, 'vmm.createImage', {
        called: `image/${name}`,
        extId,
        body: {
          ...body,
          clusterLocationExtIds: clusterExtIds,
          ...(categoryExtIds.length === 0 ? {} : { categoryExtIds: [...categoryExtIds] }),
        },
      })
      return
    }
    filling.judge(path, 'vmm.createImage', body)
    await seedImage(filling.ctx, {
      name,
      ...defined({ extId, url, description }),
      type,
      sizeBytes: (sizeGiB ?? defaultImageGiB) * GiB,
      clusterExtIds,
      categoryExtIds,
      secondsSinceCreation: 20 * day,
    })
  })

interface Machines {
  readonly filling: Filling
  /** Reserved addresses that a NIC has taken already. */
  readonly macAddresses: Set<string>
  nextMac: number
  /** Round robin, by section item and candidate clusters. */
  readonly turns: Map<string, () => ClusterEntity>
  readonly draws: Map<string, () => number>
  readonly largestDisks: Map<string, number>
}

const generatedPrefix = '50:6b:8d'
/** After those of the demo in lists. */
const firstMac = 0x01_00_00

export async function fillVms(filling: Filling, vms: readonly DeclaredVm[]): Promise<void> {
  const leases = vms.some(({ nics }) => nics !== undefined) ? await filling.ctx.store.find(MacLease) : []
  const machines: Machines = {
    filling,
    macAddresses: new Set(leases.map(({ macAddress }) => macAddress)),
    nextMac: firstMac,
    turns: new Map(),
    draws: new Map(),
    largestDisks: new Map(),
  }
  const groupOf = (path: string): DeclaredVm => vms[Number(/\d+/.exec(path)?.[0])] as DeclaredVm
  await filling.each('vms', vms, (item, path) => fillVm(machines, item, path, groupOf(path).name))
}

async function fillVm(machines: Machines, item: DeclaredVm, path: string, group: string): Promise<void> {
  const { filling } = machines
  const { ctx } = filling
  const { name, extId, description, powerState = 'OFF', bootType = 'LEGACY', hasGuestTools = false } = item
  const draw = cached(machines.draws, group, () => ctx.draws(`vms/${group}`))
  const oneOf = (given: number | readonly number[] | undefined): number =>
    given === undefined ? 1 : typeof given === 'number' ? given : (given[Math.floor(draw() * given.length)] as number)
  const vcpus = oneOf(item.vcpus)
  const memoryGiB = oneOf(item.memoryGiB)
  const more = plainOf(item)
  const body = {
    name,
    ...defined({ description }),
    numSockets: vcpus,
    ...more,
    ...busesOf(item),
  }
  const like = `${group} ${vcpus} ${memoryGiB} ${name.length}`
  filling.judge(path, 'vmm.createVm', { ...body, memorySizeBytes: memoryGiB * GiB }, { like })
  const [wanted, subnets, images, isos, owner, categoryExtIds] = await filling.all([
    () => wantedClusters(filling, item, path),
    () => subnetsOf(filling, item, path),
    () => imagesOf(filling, item.disks, `${path}.disks`),
    () => imagesOf(filling, item.cdRoms?.map(drawerOf), `${path}.cdRoms`),
    () => ownerOf(filling, item, path),
    () => filling.categories(item.categories, `${path}.categories`),
  ])
  const cluster = await clusterFor(machines, wanted, path, group, subnets, [...images.values(), ...isos.values()])
  const disks = await disksOf(machines, item, path, cluster, images)
  const os = disks.find((disk) => disk.os !== undefined)?.os ?? 'linux'
  const cdRoms = await cdRomsOf(filling, item, path, cluster, isos)
  const uefi = bootType === 'UEFI' ? await filling.container(cluster, 'default', path) : undefined
  await seedVm(ctx, {
    name,
    ...defined({ extId, key: extId, description }),
    clusterExtId: cluster.extId,
    vcpus,
    memoryGiB,
    disks,
    ...(cdRoms.length === 0 ? {} : { cdRoms }),
    more,
    nics: subnets.map((subnet, index) => nicFor(machines, item, path, subnet, index)),
    ...defined({ uefiContainerExtId: uefi?.extId }),
    ...(hasGuestTools ? { guestTools: workingTools(os) } : {}),
    categoryExtIds,
    ownerExtId: owner,
    isOn: powerState === 'ON',
    secondsSinceCreation: daysOn * day + 3600,
    secondsSinceStart: daysOn * day,
  })
}

const ownerOf = async (filling: Filling, { owner }: DeclaredVm, path: string): Promise<string> =>
  owner === undefined ? filling.ctx.adminId : (await filling.user(owner, `${path}.owner`)).extId

const subnetsOf = (filling: Filling, { nics = [] }: DeclaredVm, path: string): Promise<SubnetEntity[]> =>
  filling.all(
    nics.map((nic, index) => async () => {
      const at = `${path}.nics[${index}]`
      const isName = typeof nic === 'string'
      const subnet = await filling.subnet(isName ? nic : nic.subnet, isName ? at : `${at}.subnet`)
      if (subnet.isExternal === true) filling.refuse(at, `expected a subnet that is not external; ${subnet.name} is`)
      return subnet
    }),
  )

type ImageEntity = EntityOf<typeof Image>

/** By index of the disk or drive. */
async function imagesOf(
  filling: Filling,
  backed: readonly (number | { readonly image?: string })[] = [],
  path: string,
): Promise<Map<number, ImageEntity>> {
  const found = await filling.all(
    backed.map((one, index) => async () => {
      const name = typeof one === 'number' ? undefined : one.image
      return name === undefined ? undefined : await filling.image(name, `${path}[${index}].image`)
    }),
  )
  return new Map(found.flatMap((image, index) => (image === undefined ? [] : [[index, image] as const])))
}

type DeclaredDrive = NonNullable<DeclaredVm['cdRoms']>[number]
const drawerOf = (drive: DeclaredDrive) => (typeof drive === 'string' ? { image: drive } : drive)

async function cdRomsOf(
  filling: Filling,
  { cdRoms = [] }: DeclaredVm,
  path: string,
  cluster: ClusterEntity,
  isos: ReadonlyMap<number, ImageEntity>,
): Promise<SeedCdRom[]> {
  if (cdRoms.length === 0) return []
  const { extId: containerExtId } = await filling.container(cluster, 'default', path)
  return cdRoms.map((drive, index) => {
    const { busType = 'IDE' } = drawerOf(drive) as { busType?: 'IDE' | 'SATA' }
    const iso = isos.get(index)
    if (iso === undefined) return { busType }
    return { busType, image: { extId: iso.extId, sizeBytes: iso.sizeBytes ?? 0, containerExtId } }
  })
}

const plainOf = (item: DeclaredVm): Partial<VmEntity> =>
  Object.fromEntries(plainVmFields.flatMap((field) => (item[field] === undefined ? [] : [[field, item[field]]])))

function busesOf({ disks = [], cdRoms = [] }: DeclaredVm): object {
  const buses = disks.flatMap((disk) => (typeof disk === 'number' ? [] : (disk.busType ?? [])))
  if (buses.length === 0 && cdRoms.length === 0) return {}
  return {
    disks: disks.map((disk) => ({
      backingInfo: { $objectType: 'vmm.v4.ahv.config.VmDisk', diskSizeBytes: GiB },
      diskAddress: { busType: (typeof disk === 'number' ? undefined : disk.busType) ?? 'SCSI' },
    })),
    cdRoms: cdRoms.map((drive) => {
      const { busType = 'IDE' } = drawerOf(drive) as { busType?: string }
      return { diskAddress: { busType } }
    }),
  }
}

async function wantedClusters(filling: Filling, { cluster: named }: DeclaredVm, path: string) {
  const natives = await filling.natives()
  if (named === undefined) return natives
  return filling.all(
    [named].flat().map((name, index) => async () => {
      const at = typeof named === 'string' ? `${path}.cluster` : `${path}.cluster[${index}]`
      const cluster = await filling.cluster(name, at)
      if (!natives.some(({ extId }) => extId === cluster.extId))
        filling.refuse(at, `expected a native cluster; ${name} is none`)
      return cluster
    }),
  )
}

/** In turn, among clusters that have all references of the VM. */
async function clusterFor(
  machines: Machines,
  wanted: readonly ClusterEntity[],
  path: string,
  group: string,
  subnets: readonly SubnetEntity[],
  images: readonly ImageEntity[],
): Promise<ClusterEntity> {
  const { filling } = machines
  let fitting = wanted
  if (fitting.length === 0) filling.refuse(path, 'expected a native cluster to run on: there is none')
  const keep = (what: string, has: (cluster: ClusterEntity) => boolean): void => {
    const left = fitting.filter(has)
    if (left.length === 0) filling.refuse(path, `${what} is not on ${fitting.map(({ name }) => name).join(', ')}`)
    fitting = left
  }
  for (const subnet of subnets)
    if (subnet.subnetType === 'VLAN')
      keep(`the subnet ${subnet.name}`, ({ extId }) => extId === subnet.clusterReference)
  for (const image of images)
    keep(`the image ${image.name}`, ({ extId }) => image.clusterLocationExtIds?.includes(extId) === true)
  if (fitting.length === 1) return fitting[0] as ClusterEntity
  const key = `${group} ${fitting.map(({ extId }) => extId).join()}`
  return cached(machines.turns, key, () => turnsOf(fitting, filling.ctx.draws(`clusters of vms/${key}`)))()
}

async function disksOf(
  machines: Machines,
  { disks = [] }: DeclaredVm,
  path: string,
  cluster: ClusterEntity,
  images: ReadonlyMap<number, ImageEntity>,
): Promise<SeedDisk[]> {
  const { filling } = machines
  const described: SeedDisk[] = []
  for (const [index, disk] of disks.entries()) {
    const at = `${path}.disks[${index}]`
    const {
      sizeGiB,
      container: name = 'default',
      busType,
    } = typeof disk === 'number' ? ({ sizeGiB: disk } as Exclude<typeof disk, number>) : disk
    const image = images.get(index)
    const sizeBytes = Math.max((sizeGiB ?? 0) * GiB, image?.sizeBytes ?? 0)
    if (sizeBytes === 0) filling.refuse(at, 'sizeGiB, or image, is missing')
    const container = await filling.container(cluster, name, `${at}.container`)
    let largest = machines.largestDisks.get(container.extId)
    if (largest === undefined) {
      const hosts = await hostsOf(filling.ctx.store, cluster.extId)
      largest = largestDisk(
        hosts.reduce((sum, host) => sum + hostCapacity(host, filling.ctx.drivers.hardware), 0),
        container,
      )
      machines.largestDisks.set(container.extId, largest)
    }
    if (sizeBytes > largest)
      filling.refuse(
        at,
        `expected at most ${Math.floor(largest / GiB)} GiB in ${container.name}, found ${sizeBytes / GiB}`,
      )
    described.push({
      sizeBytes,
      containerExtId: container.extId,
      ...defined({ busType, imageExtId: image?.extId, os: image && osOf(image.name) }),
    })
  }
  return described
}

function nicFor(
  machines: Machines,
  { nics = [] }: DeclaredVm,
  path: string,
  subnet: SubnetEntity,
  index: number,
): SeedNic {
  const { filling, macAddresses } = machines
  const nic = nics[index] as NonNullable<DeclaredVm['nics']>[number]
  const { macAddress, ipAddress, isConnected, model } =
    typeof nic === 'string' ? ({} as Partial<Exclude<typeof nic, string>>) : nic
  const at = `${path}.nics[${index}]`
  const address = ipAddress === undefined ? undefined : (parseAddress('IPV4', ipAddress) as Address | undefined)
  if (ipAddress !== undefined && address === undefined)
    filling.refuse(`${at}.ipAddress`, `expected an IPv4 address, found "${ipAddress}"`)
  const given = macAddress?.toLowerCase()
  if (given !== undefined && macAddresses.has(given))
    filling.refuse(`${at}.macAddress`, `${given} is another NIC's already`)
  const mac = given ?? generatedMac(machines)
  macAddresses.add(mac)
  return {
    subnet,
    macAddress: mac,
    ...defined({ address }),
    backing: defined({ isConnected, model }),
  }
}

function generatedMac(machines: Machines): string {
  for (;;) {
    const octets = (machines.nextMac++).toString(16).padStart(6, '0').match(/../g) as string[]
    const mac = [generatedPrefix, ...octets].join(':')
    if (!machines.macAddresses.has(mac)) return mac
  }
}

function cached<T>(cache: Map<string, T>, key: string, make: () => T): T {
  const present = cache.get(key)
  if (present !== undefined) return present
  const value = make()
  cache.set(key, value)
  return value
}
