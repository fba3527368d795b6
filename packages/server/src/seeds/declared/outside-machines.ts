import { Host } from '@hyperplane/contract/clustermgmt/host'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { defined } from '../../core/defined.ts'
import { seedExternVm } from '../demo/outside-machines.ts'
import type { Declared, DeclaredOf } from '../format.ts'
import { addressIn } from '../readable.ts'
import type { ClusterEntity, Filling } from './filling.ts'

const defaultHardwareVersion = 19

export async function fillExternVms(filling: Filling, vms: Declared['externalVms']): Promise<void> {
  const { ctx } = filling
  let placed = 0
  let nextMac = (await ctx.store.find(ExternVm)).length
  const macAddress = (): string => {
    const octets = (++nextMac).toString(16).padStart(6, '0').match(/../g) as string[]
    return ['00:50:56', ...octets].join(':')
  }
  await filling.each('externalVms', vms, async (item, path) => {
    const [cluster, owner, categoryExtIds] = await filling.all([
      () => externalOr(filling, item, path),
      async () => (item.owner === undefined ? ctx.adminId : (await filling.user(item.owner, `${path}.owner`)).extId),
      () => filling.categories(item.categories, `${path}.categories`),
    ])
    const hosts = await ctx.store.findWhere(Host, { 'cluster/uuid': cluster.extId })
    const host =
      item.host === undefined ? hosts[placed++ % hosts.length] : hosts.find(({ hostName }) => hostName === item.host)
    if (host === undefined)
      filling.refuse(
        `${path}.host`,
        `"${item.host}" is no host of ${cluster.name}: ${hosts.map((each) => each.hostName).join(', ')}`,
      )
    const container = await filling.container(cluster, item.container ?? 'default', `${path}.container`)
    const { name, extId, description, guestOsName, numCpus = 1, virtualHardwareVersion = defaultHardwareVersion } = item
    await seedExternVm(ctx, {
      ...defined({ extId }),
      name,
      ...defined({ description }),
      powerState: item.powerState ?? 'OFF',
      clusterExtId: cluster.extId,
      hostExtId: host.extId,
      containerExtId: container.extId,
      numCpus,
      numCoresPerSocket: item.numCoresPerSocket ?? numCpus,
      memoryGiB: item.memoryGiB ?? 1,
      disksGiB: item.disksGiB ?? [],
      ...defined({ guestOsName }),
      virtualHardwareVersion,
      nics: (item.nics ?? []).map((nic, index) => {
        const { ipAddress } = nic
        if (ipAddress !== undefined) addressIn(ipAddress, `${path}.nics[${index}].ipAddress`, filling, 'IPV4')
        return {
          portGroup: nic.portGroup ?? 'VM Network',
          macAddress: nic.macAddress?.toLowerCase() ?? macAddress(),
          ...defined({ ipAddress }),
        }
      }),
      hasGuestTools: item.hasGuestTools === true,
      ownerExtId: owner,
      categoryExtIds,
    })
  })
}

async function externalOr(
  filling: Filling,
  { cluster: name }: DeclaredOf<'externalVms'>,
  path: string,
): Promise<ClusterEntity> {
  const externals = await filling.externals()
  if (name === undefined) {
    if (externals.length === 1) return externals[0] as ClusterEntity
    const there =
      externals.length === 0 ? 'there is no external one' : `there are ${externals.map((each) => each.name).join(', ')}`
    return filling.refuse(path, `cluster is missing: ${there}`)
  }
  const found = await filling.cluster(name, `${path}.cluster`)
  if (!externals.some(({ extId }) => extId === found.extId))
    filling.refuse(`${path}.cluster`, `expected an external cluster; ${name} is none`)
  return found
}
