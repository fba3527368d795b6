/** The row of a registered manager, from what it reported about itself. Source: behaviour platform.md 4. */
import type { Clock } from '../../core/time/clock.ts'
import type { RemoteSide } from '../../drivers/remote-managers.ts'
import type { Manager } from './own-manager.ts'
import { asAddress } from './registration-rules.ts'

export function managerOfRemote(
  remote: RemoteSide,
  address: string,
  { tenantId, clock }: { readonly tenantId: string; readonly clock: Pick<Clock, 'iso'> },
): Manager {
  const shown = asAddress(address)
  return {
    extId: remote.extId,
    tenantId,
    config: {
      name: remote.name,
      size: remote.manager?.size ?? 'SMALL',
      buildInfo: { version: remote.version },
      shouldEnableLockdownMode: false,
    },
    network: {
      ...(shown.fqdn === undefined ? { externalAddress: shown } : { fqdn: shown.fqdn.value }),
      nameServers: [],
      ntpServers: [],
      externalNetworks: [],
    },
    isRegisteredWithHostingCluster: false,
    shouldEnableHighAvailability: remote.manager?.isHighlyAvailable === true,
    createdTime: clock.iso(),
  }
}
