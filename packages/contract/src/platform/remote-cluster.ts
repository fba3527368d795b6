/**
 * Names a remote cluster or manager: by its address with credentials, or by its id.
 * Source: catalogue platform.json; behaviour platform.md 4, 7.
 */
import { enumeration, object, oneOf, optional, secret, text, uuid } from '../schema.ts'
import { BasicAuth, IPAddressOrFQDN } from '../shapes.ts'

export const ClusterReference = object('platform.v4.management.ClusterReference', {
  // Plain id rather than a reference: a fresh instance and a registration name clusters that do not exist here yet.
  extId: uuid(),
  name: optional(text({ minLength: 1, maxLength: 80 })),
})

export const RemoteClusterSpec = object('platform.v4.management.RemoteClusterSpec', {
  address: IPAddressOrFQDN,
  credentials: secret(object('platform.v4.management.Credentials', { authentication: BasicAuth })),
})

export const ClusterRegistrationSpec = object('platform.v4.management.ClusterRegistrationSpec', {
  remoteCluster: oneOf(
    object('platform.v4.management.AOSRemoteClusterSpec', { remoteCluster: RemoteClusterSpec }),
    ClusterReference,
    object('platform.v4.management.DomainManagerRemoteClusterSpec', {
      remoteCluster: RemoteClusterSpec,
      cloudType: enumeration(['ONPREM_CLOUD', 'NUTANIX_HOSTED_CLOUD']),
    }),
  ),
})
