/** Configurations for the remote devices of VPN connections. Source: behaviour networking.md 1.11. */
import { VpnAppliance, vpnApplianceOperations } from '@hyperplane/contract/networking/vpn-appliance'
import { VpnConnection } from '@hyperplane/contract/networking/vpn-connection'
import { ApiError } from '../../../core/api-error.ts'
import { derivedId } from '../../../core/ids/named-id.ts'
import { listOf } from '../../../core/standard.ts'
import { implement, parentOf, type ReadContext } from '../../context.ts'
import { endsOf } from '../vpn-connection/program.ts'
import { type Device, termsFor } from './device.ts'
import { fortios } from './fortios.ts'
import { iosXe } from './ios-xe.ts'
import { junos } from './junos.ts'
import { panOs } from './pan-os.ts'
import { strongswan } from './strongswan.ts'
import { vyos } from './vyos.ts'

/** By name. A new version of a device gets an id of its own. */
const devices: readonly Device[] = [iosXe, fortios, junos, panOs, vyos, strongswan]
const idOf = ({ name, version }: Device): string => derivedId('vpn appliance', name, version)

export const vpnAppliance = implement(vpnApplianceOperations, {
  async listVpnAppliancesByVpnConnectionId(ctx, request) {
    const { extId: vpnConnectionExtId } = connectionOf(ctx)
    const appliances = devices.map((device) => ({
      extId: idOf(device),
      name: device.name,
      version: device.version,
      vpnConnectionExtId,
    }))
    return listOf(appliances, request)
  },
  async getVpnApplianceForVpnConnectionById(ctx, { path }) {
    const device = devices.find((each) => idOf(each) === path.extId)
    if (device === undefined)
      throw new ApiError('NETWORKING_ENTITY_NOT_FOUND', { kind: VpnAppliance.title, id: path.extId })
    const connection = connectionOf(ctx)
    const terms = termsFor(connection, await endsOf(ctx.store, connection))
    return `${device.render(terms).join('\n')}\n`
  },
})

const connectionOf = (ctx: Pick<ReadContext, 'operation' | 'parents'>) =>
  parentOf(ctx, 'vpnConnectionExtId', VpnConnection)
