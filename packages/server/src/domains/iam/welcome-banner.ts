/** The welcome banner. Source: behaviour iam.md 6. */
import { WelcomeBanner, welcomeBannerOperations } from '@hyperplane/contract/iam/welcome-banner'
import { invalid } from '../../core/api-error.ts'
import { replaced } from '../../core/updates.ts'
import { implement } from '../context.ts'

export const welcomeBanner = implement(
  welcomeBannerOperations,
  {
    async updateWelcomeBanner(ctx, { body }) {
      const banner = replaced(WelcomeBanner, ctx.target, body, ctx.version)
      return ctx.store.replace(WelcomeBanner, { ...banner, lastUpdatedTime: ctx.clock.iso() })
    },
  },
  {
    rules: {
      updateWelcomeBanner: ({ body }) =>
        body.isEnabled === true && (body.content ?? '').trim() === ''
          ? [invalid('content', 'a banner that is enabled needs a text.')]
          : [],
    },
  },
)
