/** A registration's id is derived from that of the remote side. Source: behaviour platform.md 4, 6, 13. */

import type { EntityOf } from '@hyperplane/contract'
import type { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import { Registration } from '@hyperplane/contract/platform/registration'
import { derivedId } from '../../core/ids/named-id.ts'
import type { Reader } from '../../store/store.ts'

export type RegistrationRow = EntityOf<typeof Registration>

export const registrationIdOf = (remoteExtId: string): string => derivedId('registration', remoteExtId)

export const registrationOf = (store: Reader, remoteExtId: string): Promise<RegistrationRow | undefined> =>
  store.get(Registration, registrationIdOf(remoteExtId))

interface Trusted {
  readonly tenantId: string
  readonly domainManagerExtId: string
  readonly address: string
  readonly certificate: string
  readonly attributes?: Readonly<Record<string, string>>
}

/** PENDING until the first probe shows whether the cluster answers. */
export function newRegistration(
  remote: Omit<NonNullable<RegistrationRow['remoteClusterDetails']>, 'tenantId' | 'links'> & { readonly extId: string },
  { tenantId, domainManagerExtId, address, certificate, attributes = {} }: Trusted,
): RegistrationRow {
  return {
    extId: registrationIdOf(remote.extId),
    tenantId,
    domainManagerExtId,
    remoteClusterExtId: remote.extId,
    remoteClusterDetails: remote,
    connectivityStatus: 'PENDING',
    metadata: registrationMetadataOf({ certificateSha256: certificate, ...attributes }),
    address,
    certificate,
    misses: 0,
  }
}

export const registrationMetadataOf = (attributes: Readonly<Record<string, string>>): RegistrationRow['metadata'] => ({
  $objectType: 'platform.v4.management.GenericMetadata',
  attributes: Object.entries(attributes).map(([name, value]) => ({ name, value })),
})

export function detailsOf(
  cluster: Cluster,
  hosts: readonly Host[],
): RegistrationRow['remoteClusterDetails'] & { readonly extId: string } {
  const nodes = hosts.flatMap(({ controllerVm }) => controllerVm?.externalAddress ?? []).slice(0, 3)
  return {
    extId: cluster.extId,
    name: cluster.name,
    clusterType: 'AOS',
    clusterVersion: cluster.config?.buildInfo?.version ?? '',
    externalAddress: cluster.network?.externalAddress ?? {},
    ...(nodes.length === 0 ? {} : { nodeIpAddresses: nodes }),
  }
}
