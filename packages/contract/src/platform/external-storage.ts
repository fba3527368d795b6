/** Discovered in the world, not created by clients. Source: catalogue platform.json; behaviour platform.md 10, 11. */
import { names } from '../names.ts'
import { type EntityOf, get, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddressOrFQDN } from '../shapes.ts'

export const ExternalStorage = resource('platform.v4.config.ExternalStorage', {
  fields: {
    name: s.readOnly(s.text({ maxLength: 256 })),
    providerType: s.readOnly(s.enumeration(['DELL_POWERFLEX', 'PURE_STORAGE_FLASHARRAY'])),
    config: s.readOnly(
      s.oneOf(
        s.object('platform.v4.config.DellPowerflexConfig', {
          address: s.optional(IPAddressOrFQDN),
          storagePool: s.optionalObject('platform.v4.config.DellPowerflexStoragePool', {
            name: s.optional(s.text()),
            protectionDomainName: s.optional(s.text()),
            storagePoolId: s.optional(s.text()),
          }),
          systemId: s.optional(s.text()),
        }),
        s.object('platform.v4.config.PureStorageFlashArrayConfig', {
          address: s.optional(IPAddressOrFQDN),
          id: s.optional(s.text()),
          pod: s.optionalObject('platform.v4.config.PureStorageFlashArrayPod', {
            name: s.optional(s.text()),
            podId: s.optional(s.text()),
            realm: s.optional(s.text()),
          }),
        }),
      ),
    ),
    totalCapacityBytes: s.readOnly(s.integer()),
    freeCapacityBytes: s.readOnly(s.integer()),
  },
  iam: { name: 'name' },
})
export type ExternalStorage = EntityOf<typeof ExternalStorage>

export const externalStorageOperations = {
  getExternalStorageById: get('/config/external-storages/{extId}', ExternalStorage, {
    roles: names(`
      Cluster Admin, Cluster Viewer, Platform Admin, Platform Viewer, Storage Admin, Storage Viewer, Super Admin
    `),
    rateLimit: perSecond(5),
  }),
}
