/** A remote cluster or manager, by address or by id. Source: catalogue platform.json; behaviour platform.md 4, 7. */
import * as s from '../schema.ts'
import { BasicAuth, IPAddressOrFQDN } from '../shapes.ts'

export const ClusterReference = s.object('platform.v4.management.ClusterReference', {
  // Not a reference: a fresh instance and a registration name clusters that do not exist here yet.
  extId: s.uuid(),
  name: s.optional(s.text({ minLength: 1, maxLength: 80 })),
})

export const RemoteClusterSpec = s.object('platform.v4.management.RemoteClusterSpec', {
  address: IPAddressOrFQDN,
  credentials: s.secret(s.object('platform.v4.management.Credentials', { authentication: BasicAuth })),
})

export const ClusterRegistrationSpec = s.object('platform.v4.management.ClusterRegistrationSpec', {
  remoteCluster: s.oneOf(
    s.object('platform.v4.management.AOSRemoteClusterSpec', { remoteCluster: RemoteClusterSpec }),
    ClusterReference,
    s.object('platform.v4.management.DomainManagerRemoteClusterSpec', {
      remoteCluster: RemoteClusterSpec,
      cloudType: s.enumeration(['ONPREM_CLOUD', 'NUTANIX_HOSTED_CLOUD']),
    }),
  ),
})
