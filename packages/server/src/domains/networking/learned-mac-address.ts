/** Source: behaviour networking.md 1.12. */
import type { EntityOf } from '@hyperplane/contract'
import { Layer2Stretch } from '@hyperplane/contract/networking/layer2-stretch'
import {
  type LearnedMacAddress,
  learnedMacAddressOperations,
} from '@hyperplane/contract/networking/learned-mac-address'
import { ApiError } from '../../core/api-error.ts'
import { derivedId } from '../../core/ids/named-id.ts'
import { parseHost, writeAddress } from '../../core/ip-address.ts'
import { listOf } from '../../core/standard.ts'
import { implement, parentOf, type ReadContext } from '../context.ts'
import { chosenMacPrefix } from '../virtual-machines/mac-lease.ts'
import { nicsOn } from './subnet-nics.ts'

type MacEntity = EntityOf<typeof LearnedMacAddress>

export const learnedMacAddress = implement(learnedMacAddressOperations, {
  listLearnedMacAddressesByLayer2StretchId: async (ctx, request) => listOf(await addressesOf(ctx), request),
  async getLearnedMacAddressForLayer2StretchById(ctx, { path: { extId } }) {
    const found = (await addressesOf(ctx)).find((each) => each.extId === extId)
    if (found === undefined)
      throw new ApiError('NETWORKING_ENTITY_NOT_FOUND', { kind: 'Learned MAC address', id: extId })
    return found
  },
})

/** Addresses of NICs on the local subnet come first, then those of guests at the other site. */
async function addressesOf(ctx: ReadContext<unknown, 'layer2StretchExtId'>): Promise<readonly MacEntity[]> {
  const stretch = parentOf(ctx, 'layer2StretchExtId', Layer2Stretch)
  const entity = (value: string): Pick<MacEntity, 'extId' | 'value'> => ({
    extId: derivedId('learned MAC address', stretch.extId, value),
    value,
  })
  const nics = await nicsOn(ctx.store, stretch.subnetExtId as string)
  const local = nics.flatMap(({ macAddress }): MacEntity[] => {
    if (macAddress === undefined) return []
    const macType = macAddress.toLowerCase().startsWith(chosenMacPrefix) ? 'AUTO_ASSIGNED' : 'USER_ASSIGNED'
    return [{ ...entity(macAddress), macType }]
  })
  const { learned = [] } = (await ctx.drivers.networkFabric.stretch(stretch.extId)) ?? {}
  return [
    ...local,
    ...learned.map(
      ({ macAddress, vtep }): MacEntity => ({
        ...entity(macAddress),
        macType: 'LEARNED',
        ...(vtep !== undefined && { vtepIPAddress: writeAddress(parseHost(vtep)!) }),
        remoteGatewayReference: stretch.remoteSiteParams.connectionReference,
      }),
    ),
  ]
}
