/** MAC addresses on both sides of a stretch. Not stored. Source: catalogue networking.json; behaviour networking.md 1.12. */
import { get, list, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { gatewayReaders } from './roles.ts'
import { EntityMetadata } from './shapes.ts'

export const LearnedMacAddress = resource('networking.v4.config.LearnedMacAddress', {
  fields: {
    value: s.optional(s.text()),
    /** LEARNED: of a guest at the other site; the others: of a NIC on the local subnet. */
    macType: s.optional(s.enumeration(['LEARNED', 'AUTO_ASSIGNED', 'USER_ASSIGNED'])),
    vtepIPAddress: s.optional(IPAddress),
    remoteGatewayReference: s.optional(s.uuid()),
    metadata: s.optional(EntityMetadata),
  },
  iamNoun: 'Layer2_Stretch_Learned_MAC_Address',
  title: 'learned MAC address',
  derived: true,
  internal: { stretchExtId: s.uuid() },
  parent: { param: 'layer2StretchExtId', kind: 'Layer2Stretch', field: 'stretchExtId' },
})

const path = '/config/layer2-stretches/{layer2StretchExtId}/learned-mac-addresses'

export const learnedMacAddressOperations = {
  listLearnedMacAddressesByLayer2StretchId: list(path, LearnedMacAddress, {
    roles: gatewayReaders,
    filter: ['extId', 'macType', 'value'],
    orderby: ['macType', 'value'],
  }),
  getLearnedMacAddressForLayer2StretchById: get(`${path}/{extId}`, LearnedMacAddress, { roles: gatewayReaders }),
}
