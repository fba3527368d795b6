/** The fabric holds the status. Source: behaviour networking.md 1.10. */
import { BgpSession, bgpSessionOperations } from '@hyperplane/contract/networking/bgp-session'
import { implement } from '../context.ts'
import { type SessionEntity, viewOf } from './bgp-view.ts'

export const bgpSession = implement(
  bgpSessionOperations,
  {},
  {
    present: [
      [
        BgpSession,
        (ctx, sessions: readonly SessionEntity[]) =>
          Promise.all(sessions.map(async (session) => ({ ...session, status: (await viewOf(ctx, session)).status }))),
      ],
    ],
  },
)
