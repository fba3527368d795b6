/** Source: behaviour networking.md 1.9 (highAvailabilityGroup). */
import type { PeeredGateway } from '../../../drivers/stretching.ts'

export const shownPeer = ({ extId, isUp, reason }: PeeredGateway) => ({
  extId,
  status: { state: isUp ? ('UP' as const) : ('DOWN' as const), ...(reason !== undefined && { message: reason }) },
})
