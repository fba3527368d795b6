/** The uplinks of a virtual switch on a host; not stored. Source: catalogue networking.json; behaviour networking.md 1.18, 2. */
import { get, list, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { EntityMetadata } from './shapes.ts'
import { switchReaders } from './virtual-switch.ts'

export const UplinkBond = resource('networking.v4.config.UplinkBond', {
  fields: {
    name: s.readOnly(s.text()),
    type: s.readOnly(s.enumeration(['ACTIVE_BACKUP', 'BALANCE_SLB', 'BALANCE_TCP'])),
    clusterReference: s.readOnly(s.uuid()),
    hostReference: s.readOnly(s.uuid()),
    hostNicReferences: s.readOnly(s.arrayOf(s.uuid(), { minItems: 2, maxItems: 10 })),
    virtualSwitchInfo: s.readOnly(
      s.object('networking.v4.config.UplinkBondVirtualSwitchInfo', {
        name: s.visibleWith('VirtualSwitch', 'virtualSwitchInfo/reference', s.optional(s.text())),
        reference: s.readOnly(s.uuid()),
      }),
    ),
    /** NIL: the mode does without LACP. */
    lacpStatus: s.readOnly(s.enumeration(['CONFIGURED', 'NEGOTIATED', 'NIL'])),
    metadata: s.readOnly(EntityMetadata),
  },
  derived: true,
})

const view = { roles: switchReaders, deployments: ['on-prem'] } as const

export const uplinkBondOperations = {
  listUplinkBonds: list('/config/uplink-bonds', UplinkBond, {
    ...view,
    filter: ['extId', 'hostReference'],
    orderby: ['name'],
  }),
  getUplinkBondById: get('/config/uplink-bonds/{extId}', UplinkBond, view),
}
