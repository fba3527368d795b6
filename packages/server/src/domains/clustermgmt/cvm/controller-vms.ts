/** Controller VMs of the hosts of a cluster. Source: behaviour clustermgmt.md 1.6. */
import type { EntityOf } from '@hyperplane/contract'
import type { Cvm } from '@hyperplane/contract/clustermgmt/cvm'
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import { derivedId } from '../../../core/ids/named-id.ts'
import type { Drivers } from '../../../drivers/drivers.ts'

export type HostEntity = Host

export const controllerVmId = (hostExtId: string): string => derivedId('controller-vm', hostExtId)
export const controllerVmName = ({ hostName }: HostEntity): string => `${hostName}-cvm`

export function controllerVmOf({ hardware }: Pick<Drivers, 'hardware'>, host: HostEntity): EntityOf<typeof Cvm> {
  const { numVcpus, memorySizeBytes } = hardware.controllerVm(host.extId)
  return {
    extId: controllerVmId(host.extId),
    tenantId: host.tenantId,
    name: controllerVmName(host),
    clusterExtId: host.cluster.uuid,
    nodeExtId: host.extId,
    hypervisorType: host.hypervisor?.type,
    ipAddress: host.controllerVm?.externalAddress,
    backplaneIpAddress: host.controllerVm?.backplaneAddress,
    numVcpus,
    memorySizeBytes,
  }
}
