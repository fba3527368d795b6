/**
 * An external storage array that storage containers may use. Discovered in the world, not created by clients.
 * Source: catalogue platform.json; behaviour platform.md 10, 11.
 */
import { get, perSecond, resource } from '../operation.ts'
import { enumeration, integer, object, oneOf, optional, readOnly, text } from '../schema.ts'
import { IPAddressOrFQDN } from '../shapes.ts'

export const ExternalStorage = resource(
  'platform.v4.config.ExternalStorage',
  {
    name: readOnly(text({ maxLength: 256 })),
    providerType: readOnly(enumeration(['DELL_POWERFLEX', 'PURE_STORAGE_FLASHARRAY'])),
    config: readOnly(
      oneOf(
        object('platform.v4.config.DellPowerflexConfig', {
          address: optional(IPAddressOrFQDN),
          storagePool: optional(
            object('platform.v4.config.DellPowerflexStoragePool', {
              name: optional(text()),
              protectionDomainName: optional(text()),
              storagePoolId: optional(text()),
            }),
          ),
          systemId: optional(text()),
        }),
        object('platform.v4.config.PureStorageFlashArrayConfig', {
          address: optional(IPAddressOrFQDN),
          id: optional(text()),
          pod: optional(
            object('platform.v4.config.PureStorageFlashArrayPod', {
              name: optional(text()),
              podId: optional(text()),
              realm: optional(text()),
            }),
          ),
        }),
      ),
    ),
    totalCapacityBytes: readOnly(integer()),
    freeCapacityBytes: readOnly(integer()),
  },
  { iam: { name: 'external_storage', attributes: { name: 'name' } }, rel: 'platform:config:external_storage' },
)

export const externalStorageOperations = {
  getExternalStorageById: get('/config/external-storages/{extId}', ExternalStorage, {
    iam: 'View_External_Storage',
    roles: [
      'Cluster Admin',
      'Cluster Viewer',
      'Platform Admin',
      'Platform Viewer',
      'Storage Admin',
      'Storage Viewer',
      'Super Admin',
    ],
    rateLimit: perSecond(5),
  }),
}
