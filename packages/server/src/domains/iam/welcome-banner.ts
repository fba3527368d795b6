/** The welcome banner. Source: behaviour iam.md 6. */
import { WelcomeBanner, welcomeBannerOperations } from '@hyperplane/contract/iam/welcome-banner'
import { invalid } from '../../core/api-error.ts'
import { implement } from '../context.ts'

export const welcomeBanner = implement(
  welcomeBannerOperations,
  {
    async updateWelcomeBanner(ctx, { body }) {
      const { extId, createdTime } = ctx.target
      const lastUpdatedTime = ctx.clock.iso()
      return ctx.store.replace(WelcomeBanner, { ...body, extId, createdTime, lastUpdatedTime })
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
