/** Source: catalogue vmm.json; behaviour vmm.md 1.3, 2, operation-roles.tsv. */
import { action, create, get, list, remove, resource } from '../../../operation.ts'
import * as s from '../../../schema.ts'
import { vmMutationRate, vmOperators, vmReaders, vmWriters } from '../../roles.ts'
import { VmDisk } from './disk.ts'

/** Default bus: IDE, on Q35 SATA. Default index: the lowest free one. */
export const CdRomAddress = s.object('vmm.v4.ahv.config.CdRomAddress', {
  busType: s.optional(s.enumeration(['IDE', 'SATA'])),
  index: s.optional(s.integer({ minimum: 0 })),
})

export const CdRom = resource('vmm.v4.ahv.config.CdRom', {
  fields: {
    /** Absent: the drive is empty. */
    backingInfo: s.optional(VmDisk),
    diskAddress: s.optional(CdRomAddress),
    isoType: s.readOnly(s.enumeration(['OTHER', 'GUEST_TOOLS', 'GUEST_CUSTOMIZATION'])),
  },
  iamNoun: 'Virtual_Machine_CD_ROM',
  title: 'CD-ROM',
  derived: true,
  internal: { vmExtId: s.uuid() },
  parent: { param: 'vmExtId', kind: 'Vm', field: 'vmExtId', listedIn: 'cdRoms' },
  rel: 'vmm:ahv:config:vm:cdrom',
  sharesTagOf: 'vmExtId',
})

export const CdRomInsertParams = s.object('vmm.v4.ahv.config.CdRomInsertParams', { backingInfo: s.optional(VmDisk) })

const view = { roles: vmReaders }
const change = { rateLimit: vmMutationRate, ifMatch: 'required', requestId: 'required' } as const
const setting = { of: CdRom, roles: vmWriters, rateLimit: vmMutationRate } as const

export const cdRomOperations = {
  listCdRomsByVmId: list('/ahv/config/vms/{vmExtId}/cd-roms', CdRom, view),
  createCdRom: create('/ahv/config/vms/{vmExtId}/cd-roms', CdRom, {
    ...change,
    roles: [...vmWriters, 'Management Connector'],
  }),
  getCdRomById: get('/ahv/config/vms/{vmExtId}/cd-roms/{extId}', CdRom, view),
  deleteCdRomById: remove('/ahv/config/vms/{vmExtId}/cd-roms/{extId}', CdRom, { ...change, roles: vmWriters }),
  insertCdRomById: action('/ahv/config/vms/{vmExtId}/cd-roms/{extId}/$actions/insert', {
    ...change,
    of: CdRom,
    roles: vmOperators,
    body: CdRomInsertParams,
  }),
  ejectCdRomById: action('/ahv/config/vms/{vmExtId}/cd-roms/{extId}/$actions/eject', {
    ...change,
    of: CdRom,
    roles: [...vmOperators, 'Management Connector'],
  }),
  enableVmCdRomHydration: action('/ahv/config/vms/{vmExtId}/cd-roms/{extId}/$actions/enable-hydration', {
    ...setting,
    iam: 'Enable_Virtual_Machine_CD_ROM_Hydration',
  }),
  disableVmCdRomHydration: action('/ahv/config/vms/{vmExtId}/cd-roms/{extId}/$actions/disable-hydration', {
    ...setting,
    iam: 'Disable_Virtual_Machine_CD_ROM_Hydration',
  }),
}
